// Special tokens that are added around one or two texts.
#pragma once
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "neura/text/model.h"
#include "neura/text/tokenizer.h"

namespace neura::text {

class PostProcessor {
 public:
  virtual ~PostProcessor() = default;
  virtual std::size_t added(bool /*pair*/) const { return 0; }
  // Offsets only.
  virtual void trim(Encoding&, const std::vector<const std::string*>& /*tokens*/) const {}
  virtual bool trims() const { return false; }
  // Takes the texts' encodings (the second may be null) and gives the whole; false where it adds nothing.
  virtual bool build(Encoding& /*first*/, Encoding* /*second*/, Encoding& /*to*/) const { return false; }
};
std::unique_ptr<PostProcessor> make_post_processor(const nlohmann::json& from, int depth = 0);

void append(Encoding& to, const Encoding& from, std::uint32_t type);

}  // namespace neura::text
