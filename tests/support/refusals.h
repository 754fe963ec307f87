// What must be refused, in tables: how the sentence begins, and the call.
#pragma once
#include <gtest/gtest.h>

#include <exception>
#include <functional>
#include <string>
#include <typeinfo>
#include <vector>

namespace neura::test {

struct Refusal {
  const char* says;  // the sentence begins with it
  std::function<void()> call;
};
template <class E> void expect_refusals(const std::vector<Refusal>& table) {
  for (const Refusal& r : table) {
    try {
      r.call();
      ADD_FAILURE() << r.says << ": nothing was thrown";
    } catch (const E& e) {
      EXPECT_EQ(std::string(e.what()).rfind(r.says, 0), 0u) << "instead of \"" << r.says << "\": " << e.what();
    } catch (const std::exception& e) {
      ADD_FAILURE() << r.says << ": another type of error, " << typeid(e).name() << ": " << e.what();
    }
  }
}

}  // namespace neura::test
