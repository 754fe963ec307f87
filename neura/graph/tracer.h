// One call of a traced function, as it is written down; a part of trace.cpp.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "neura/graph/program.h"

namespace neura::graph {

struct Recording {
  struct ExternalMemory {  // memory that was there before, or that f filled on the host
    ValueId value = kNoValue;
    bool is_input = false;
    Tensor tensor;    // all of it
    Tensor snapshot;  // before its first write
    bool written = false, was_read = false;
    bool overwritten = false;  // before anything read it
  };
  Program program;  // values in the order of their making; its externals are `outside`
  std::vector<ExternalMemory> outside;
  std::vector<Ref<Storage>> kept;  // what was made in the call and outlived it
  std::string problem;             // why this cannot be a program; the first

  const ExternalMemory* find(const Storage*) const;
};

class Tracer final : public Deferral {
 public:
  Tracer(Recording& to, const Recording* before, std::span<const Tensor> inputs);
  void take(Call&) override;
  void copied(const TensorImpl* from, const Tensor& to) override;
  void reads(const TensorImpl*) override;
  void recomputes(bool begins) override;
  void renews(Renewal r) override { renewal_ = std::move(r); }
  void finish(std::vector<Tensor> outputs);

 private:
  struct Memory {
    Ref<Storage> hold;
    std::uint32_t version = 0;
    ValueId whole = kNoValue;
    std::vector<std::pair<Spec, ValueId>> known;  // at this version
    std::size_t outside = std::string::npos;
  };
  struct CallSnapshot {  // a call as it was before it ran
    Node node;
    const Storage* destination = nullptr;
    bool draws = false;
  };

  ValueId value_of(const TensorImpl*);
  std::optional<ValueId> known(const Memory&, const Spec&) const;
  Memory& capture(const TensorImpl*, bool is_input);
  void saves(const TensorImpl*);  // before it is written
  CallSnapshot taken(const Call&);
  void written_down(Call&, CallSnapshot);
  void drawn(CallSnapshot&);
  static bool is_done(const Call&);
  bool is_overwrite(const Call&) const;
  bool is_known(const Call&) const;
  std::vector<ValueId> add(Node);
  void define(const TensorImpl*, ValueId, bool view);
  void redefine(const TensorImpl*, ValueId);
  void problem(const std::string&);

  Recording& to_;
  Program& program_;
  const Recording* before_;
  std::unordered_map<const Storage*, Memory> memory_;
  std::vector<Tensor> was_read_;
  Renewal renewal_;
  GeneratorState numbers_;  // of the next draw
  std::set<std::pair<std::uint64_t, std::uint64_t>> drawn_;
  std::vector<std::uint32_t> regions_;  // that are open
  std::uint32_t last_region_ = 0;
  int depth_ = 0;
};

}  // namespace neura::graph
