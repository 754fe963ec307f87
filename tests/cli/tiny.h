// A tiny data set and the program run on it.
#pragma once
#include <gtest/gtest.h>

#include "neura/data/idx.h"
#include "neura/io/value.h"
#include "neura/train/files.h"
#include "tests/cli/program.h"
#include "tests/io/folder.h"
#include "tests/support/close.h"
#include "tests/support/loop.h"
#include "tests/support/sample.h"

namespace neura::test {

// Pictures whose class is where their bright bar lies: easy to learn.
inline void make_data(const std::string& folder, std::int64_t train, std::int64_t test) {
  for (const auto& [part, n] : {std::pair{"train", train}, std::pair{"t10k", test}}) {
    Dice dice{std::uint64_t(n)};
    Tensor images = Tensor::empty(Spec::dense(uint8, Shape{n, 10, 8})),
           labels = Tensor::empty(Spec::dense(uint8, Shape{n}));
    auto* p = images.data<std::uint8_t>();
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t label = i % 10;
      labels.data<std::uint8_t>()[i] = std::uint8_t(label);
      for (std::int64_t y = 0; y < 10; ++y)
        for (std::int64_t x = 0; x < 8; ++x) *p++ = std::uint8_t((y == label ? 200 : 0) + dice.below(50));
    }
    data::write_idx(folder + "/" + part + "-images-idx3-ubyte.gz", images);
    data::write_idx(folder + "/" + part + "-labels-idx1-ubyte", labels);
  }
}

struct Cli : ::testing::Test {
  Folder folder;
  void SetUp() override { make_data(folder.path(), 300, 100); }  // enough to be learned, and quick under sanitizers
  std::vector<std::string> train(std::vector<std::string> more) const {
    std::vector<std::string> all = {"train", "fashion-mnist", folder.path(), "--batch-size", "50"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  int run(std::vector<std::string> arguments) { return Program(folder.path(), std::move(arguments)).wait(); }
  std::string last_checkpoint(const std::string& run) { return train::checkpoints(folder / run).back().second; }
  std::string out() const { return text_of(folder / "out"); }
  std::string err() const { return text_of(folder / "err"); }
  // What it says when it fails with this code: one line.
  std::string fails(int code, std::vector<std::string> arguments) {
    EXPECT_EQ(run(std::move(arguments)), code);
    std::string text = err();
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
    return text;
  }
};

// All tensors of two checkpoints, bit for bit: weights, the optimizer's state. Wherever they were saved.
inline void expect_same_run(const std::string& a, const std::string& b) {
  const nn::StateDict x = load(a, Device()), y = load(b, Device());
  ASSERT_EQ(x.keys(), y.keys());
  for (const auto& [name, t] : x) {
    SCOPED_TRACE(name);
    expect_same(y.at(name), t);
  }
  const nn::Value m = load_value(a, Device()), n = load_value(b, Device());
  const auto offset = [](const nn::Value& v) {
    return nn::unbox<std::vector<std::int64_t>>(*v.get<nn::Dict>()->find("generator"));
  };
  EXPECT_EQ(offset(m), offset(n));
}

// Waits until the program has written `text`, then interrupts it.
inline int interrupt_after(Program& p, const std::string& text) {
  for (int i = 0; i < 60000 && p.out().find(text) == std::string::npos; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  p.send(SIGINT);
  return p.wait();
}

}  // namespace neura::test
