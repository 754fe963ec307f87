// Tests that hold on any device, for the programs of tests/device and tests/cuda: each function is one, on a device.
#pragma once
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "neura/autograd/grad_mode.h"
#include "neura/core/random.h"
#include "neura/cuda/memory.h"
#include "neura/nn/init.h"
#include "neura/op/apply.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/product/matmul.h"
#include "neura/ops/shape/view.h"
#include "tests/contract/in_place.h"
#include "tests/contract/structs.h"
#include "tests/support/close.h"
#include "tests/support/sample.h"

namespace neura::test {

// Calls that copy from one device to another.
struct Crossings : Interceptor {
  std::int64_t seen = 0;
  void call(Call& c) override {
    Device first = c.destination == Destination::fresh ? Device() : c.out[0].device();
    bool known = c.destination != Destination::fresh;
    for (int i = 0; i < c.inputs; ++i)
      if (const Operand& o = c.in[i]; o.is_tensor()) {
        if (known) seen += o.tensor->spec.device != first;
        else first = o.tensor->spec.device, known = true;
      }
    seen += std::string_view(c.row->name) == "to_device";
    apply(c);
  }
};

struct Initialiser {
  const char* name;
  std::function<void(const Tensor&)> fill;
  bool on_host = false;  // its numbers come from the cpu
};
inline std::vector<Initialiser> initialisers() {
  using T = const Tensor&;
  return {{"uniform_", [](T t) { nn::init::uniform_(t, -1, 2); }},
          {"normal_", [](T t) { nn::init::normal_(t, 1, 2); }},
          {"trunc_normal_", [](T t) { nn::init::trunc_normal_(t); }},
          {"constant_", [](T t) { nn::init::constant_(t, 0.5); }},
          {"ones_", [](T t) { nn::init::ones_(t); }},
          {"zeros_", [](T t) { nn::init::zeros_(t); }},
          {"eye_", [](T t) { nn::init::eye_(t); }},
          {"dirac_", [](T t) { nn::init::dirac_(t.unsqueeze(-1)); }},
          {"xavier_uniform_", [](T t) { nn::init::xavier_uniform_(t); }},
          {"xavier_normal_", [](T t) { nn::init::xavier_normal_(t, 2); }},
          {"kaiming_uniform_", [](T t) { nn::init::kaiming_uniform_(t); }},
          {"kaiming_normal_", [](T t) { nn::init::kaiming_normal_(t); }},
          {"orthogonal_", [](T t) { nn::init::orthogonal_(t); }, true},
          {"sparse_", [](T t) { nn::init::sparse_(t, 0.3); }}};
}
// The cpu's numbers in place, in whole tensors and in strided views, which nothing else of their storage notices:
// without a record, and without a copy from elsewhere.
inline void expect_initialised(Device device) {
  for (const Initialiser& init : initialisers())
    for (const bool strided : {false, true}) {
      SCOPED_TRACE(std::string(init.name) + (strided ? ", strided" : ""));
      const auto window = [&](const Tensor& all) { return strided ? all.t().slice(0, 1, 13, 2) : all; };
      const Tensor here = full({9, 15}, 7.0), there = full({9, 15}, 7.0, {.device = device}).requires_grad_();
      manual_seed(6);
      init.fill(window(here));
      manual_seed(6);
      {
        const NoGrad views;
        const Crossings crossings;
        init.fill(window(there));
        EXPECT_EQ(crossings.seen, init.on_host && !device.is_cpu());
      }
      EXPECT_TRUE(there.is_leaf() && there.device() == device);
      expect_close(there.detach().to(Device()), here);
    }
}

// Every operation that writes in place, through windows of a larger storage: the fresh form's numbers, nothing outside,
// and a lazy clone keeps what it had.
inline void expect_written_in_place(Device device) {
  const auto here = [](const Tensor& t) { return t.detach().to(Device()); };
  for (const InPlaceCase& c : in_place_cases())
    for (const Shape& strides : {Shape{3, 1}, Shape{1, 3}, Shape{6, 2}}) {
      SCOPED_TRACE(std::string(c.name) + ", strides " + strides.str());
      constants_on = Device();
      const Tensor x = sample({3, 3}), o = sample({2, 3}, float32, {.seed = 2}), want = c.fresh(x, o);
      constants_on = device;
      const Tensor all = full({5000}, 7.0, {.device = device});
      Tensor self = as_strided(all, {3, 3}, strides, 5);
      self.copy_(x.to(device));
      const Tensor before = here(all).clone(), lazy = lazy_clone(all);
      const std::uint32_t version = self.version();
      EXPECT_TRUE(c.write(self, o.to(device)).is_same(self));
      EXPECT_NE(self.version(), version);
      expect_close(here(self), want);
      expect_same(here(lazy), before);
      as_strided(all, {3, 3}, strides, 5).copy_(x.to(device));
      expect_same(here(all), before);
    }
  constants_on = Device();
}

// What a device has no kernel for says so: operation, dtype and device.
inline void expect_refused_dtypes(Device device) {
  const Tensor mask = full({3, 3}, true, {.device = device});
  const std::string where = device.is_cpu() ? "" : " on " + device.str();
  EXPECT_EQ(error_of<DTypeError>([&] { matmul(mask, mask); }),
            "matmul: expected numbers, got bool [3, 3]" + where + "; convert it with .to()");
  EXPECT_EQ(error_of<DTypeError>([&] { sub(mask, mask); }).find("sub: expected "), 0u);
  EXPECT_NE(error_of<DTypeError>([&] { sub(mask, mask); }).find("bool [3, 3]" + where), std::string::npos);
}

// Pinned blocks of every size begin on 64 bytes, as vector loads want.
inline void expect_pinned_alignment() {
  std::vector<Tensor> all;  // alive together: blocks beside one another
  for (std::int64_t n = 0; n < 300; ++n) all.push_back(cuda::empty_pinned({n}, uint8));
  for (const std::int64_t n : {1000, 4095, 65537, 1 << 20, (1 << 21) + 1})
    all.push_back(cuda::empty_pinned({n}, uint8));
  for (const Tensor& t : all) {
    EXPECT_TRUE(t.numel() == 0 || cuda::is_pinned(t));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(t.const_raw_data()) % 64, 0u) << t.numel() << " bytes";
  }
}

}  // namespace neura::test
