#include "neura/io/value.h"

#include <gtest/gtest.h>

#include <cmath>

#include "neura/ops/create/create.h"
#include "tests/io/folder.h"
#include "tests/support/close.h"
#include "tests/support/sample.h"

namespace neura {
namespace {

using nn::Dict;
using nn::List;
using nn::Value;
using test::error_of;
using test::Folder;
using test::sample;

bool same(const Value& a, const Value& b) {
  if (a.v.index() != b.v.index()) return false;
  if (const auto* x = a.get<Tensor>()) {
    test::expect_same(*b.get<Tensor>(), *x);
    return true;
  }
  if (const auto* x = a.get<double>()) {
    const double y = *b.get<double>();
    return *x == y || (std::isnan(*x) && std::isnan(y));
  }
  if (const auto* x = a.get<List>()) {
    const auto* y = b.get<List>();
    if (x->tuple != y->tuple || x->items.size() != y->items.size()) return false;
    for (std::size_t i = 0; i < x->items.size(); ++i)
      if (!same(x->items[i], y->items[i])) return false;
    return true;
  }
  if (const auto* x = a.get<Dict>()) {
    const auto* y = b.get<Dict>();
    if (x->items.size() != y->items.size()) return false;
    for (std::size_t i = 0; i < x->items.size(); ++i)
      if (x->items[i].first != y->items[i].first || !same(x->items[i].second, y->items[i].second)) return false;
    return true;
  }
  if (const auto* x = a.get<bool>()) return *x == *b.get<bool>();
  if (const auto* x = a.get<std::int64_t>()) return *x == *b.get<std::int64_t>();
  if (const auto* x = a.get<std::string>()) return *x == *b.get<std::string>();
  return true;
}

Dict checkpoint() {
  Dict model, group, optimizer, all;
  model["0.weight"] = sample({2, 3});
  model["0.bias"] = sample({2}, float64);
  group["lr"] = 0.1;
  group["betas"] = List{{0.9, 0.999}, true};
  group["params"] = List{{0, 1}, false};
  group["fused"] = Value();
  optimizer["state"] = Dict{{{"0", Dict{{{"exp_avg", sample({2, 3}, float32, {.seed = 4})}, {"step", 7}}}}}};
  optimizer["param_groups"] = List{{group}, false};
  all["model"] = model;
  all["optimizer"] = optimizer;
  all["epoch"] = 3;
  all["big"] = std::int64_t{1} << 62;
  all["best"] = -HUGE_VAL;
  all["loss"] = std::nan("");
  all["third"] = 1.0 / 3;
  all["on"] = true;
  all["note"] = "\xE2\x82\xAC \"quoted\"";
  all["a.b"] = Dict{{{"c", sample({1})}}};  // two paths that read alike
  all["a"] = Dict{{{"b.c", sample({2})}}};
  return all;
}

TEST(SaveValue, BringsBackAWholeTree) {
  const Folder folder;
  const Dict tree = checkpoint();
  save(folder / "c.safetensors", tree, {{"who", "me"}});
  EXPECT_TRUE(same(load_value(folder / "c.safetensors"), tree));
  const TensorFile file = load_file(folder / "c.safetensors");
  EXPECT_TRUE(file.tensors.contains("model.0.weight"));
  EXPECT_TRUE(file.tensors.contains("optimizer.state.0.exp_avg"));
  EXPECT_EQ(file.metadata.at("who"), "me");
}

TEST(SaveValue, WritesASharedTensorOnce) {
  const Folder folder;
  const Tensor t = sample({4});
  save(folder / "c", Dict{{{"a", t}, {"b", t}}});
  const Value back = load_value(folder / "c");
  EXPECT_TRUE(back.get<Dict>()->find("a")->get<Tensor>()->is_same(*back.get<Dict>()->find("b")->get<Tensor>()));
  EXPECT_EQ(load(folder / "c").size(), 1u);
}

TEST(SaveValue, ReadsAPlainFileAsADictionary) {
  const Folder folder;
  const Tensor t = sample({4});
  save(folder / "c", {{"w", t}});
  EXPECT_TRUE(same(load_value(folder / "c"), Dict{{{"w", t}}}));
  EXPECT_EQ(to_state_dict(load_value(folder / "c")).keys(), std::vector<std::string>{"w"});
}

TEST(LoadValue, ReadsTheNumbersOfADictionaryAsText) {  // as Python saves the state of an optimizer
  const Folder folder;
  save(folder / "c", nn::StateDict{}, {{"neura.value", R"({"dict":[[0,"a"],[-7,"b"]]})"}});
  EXPECT_TRUE(same(load_value(folder / "c"), Dict{{{"0", "a"}, {"-7", "b"}}}));
}

TEST(LoadValue, ReadsPythonsOrderedDictionariesSizesArraysAndParameters) {
  const Folder folder;
  const Tensor w = sample({2});
  save(folder / "c", nn::StateDict{{"w", w}},
       {{"neura.value", R"({"ordered":[["a",{"size":[2,3]}],["b",{"array":{"tensor":"w"}}],)"
                        R"(["c",{"parameter":{"tensor":"w"}}]]})"}});
  EXPECT_TRUE(same(load_value(folder / "c"), Dict{{{"a", List{{2, 3}, true}}, {"b", w}, {"c", w}}}));
}

TEST(SaveValue, RefusesWhatNoFileHolds) {
  const Folder folder;
  struct Thing : nn::Opaque {};
  EXPECT_EQ(error_of<ValueError>([&] {
              save(folder / "c", Dict{{{"x", Value(std::make_shared<Thing>())}}});
            }),
            "save: expected tensors, numbers, text, lists and dictionaries, got another object at \"x\"");
  Value deep = 1;
  for (int i = 0; i < 100; ++i) deep = List{{deep}, false};
  EXPECT_EQ(error_of<ValueError>([&] { save(folder / "c", deep); }).rfind("save: expected at most 64 levels", 0), 0u);
  EXPECT_EQ(error_of<ValueError>([&] {
              save(folder / "c", Dict{{{"x", Tensor()}}});
            }),
            "save: expected a tensor at \"x\", got an undefined one");
  EXPECT_EQ(folder.files(), 0);
  EXPECT_EQ(error_of<ValueError>([&] {
              to_state_dict(Dict{{{"x", 3}}});
            }),
            "load: expected a state dict, a dictionary of tensors, got int for \"x\"");
}

TEST(LoadValue, RefusesDamagedTrees) {
  const Folder folder;
  const auto why_not = [&](const std::string& tree) {
    save(folder / "c", nn::StateDict{{"w", sample({1})}}, {{"neura.value", tree}});
    return error_of<FormatError>([&] { load_value(folder / "c"); });
  };
  const std::string damaged = (folder / "c") + ": the metadata entry \"neura.value\" is damaged";
  for (const char* tree : {"", "{", "[]", "[1]", "{}", R"({"a":1,"b":2})", R"({"dict":[1]})", R"({"dict":[["a"]]})",
                           R"({"dict":[[1.5,2]]})", R"({"float":"x"})", R"({"tensor":1})", R"({"other":[]})"})
    EXPECT_EQ(why_not(tree), damaged) << tree;
  EXPECT_EQ(why_not(R"({"set":[1]})"),
            (folder / "c") + ": expected values that C++ has, got a set of Python; save it as text or numbers");
  EXPECT_EQ(why_not(R"({"tensor":"v"})"), (folder / "c") + ": expected a tensor \"v\", got none");
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += R"({"list":[)";
  for (int i = 0; i < 100000; ++i) deep += "]}";
  EXPECT_EQ(why_not(deep), damaged);
}

TEST(LoadValue, ReadsViewsThatPythonWrote) {
  const Folder folder;
  const auto load = [&](const std::string& view) {
    save(folder / "c", nn::StateDict{{"w", arange(6)}},
         {{"neura.value", R"({"list":[{"tensor":"w"},{"view":)" + view + "}]}"}});
    return *load_value(folder / "c").get<nn::List>();
  };
  const nn::List list = load(R"({"of":"w","dtype":"int64","offset":1,"size":[2,2],"stride":[2,1]})");
  const Tensor w = *list.items[0].get<Tensor>(), v = *list.items[1].get<Tensor>();
  EXPECT_EQ(v.to_vector<std::int64_t>(), (std::vector<std::int64_t>{1, 2, 3, 4}));
  EXPECT_EQ(w.impl()->storage, v.impl()->storage);
  for (const char* view : {R"({"of":"w","dtype":"int64","offset":1,"size":[6],"stride":[1]})", "[]", "1",
                           R"({"of":"w","dtype":"int63","offset":1,"size":[1],"stride":[1]})",
                           R"({"of":"v","dtype":"int64","offset":1,"size":[1],"stride":[1]})",
                           R"({"of":"w","dtype":"bool","offset":0,"size":[48],"stride":[1]})",
                           R"({"of":"w","dtype":"int64","offset":-1,"size":[1],"stride":[1]})"})
    EXPECT_EQ(error_of<FormatError>([&] { load(view); }),
              (folder / "c") + ": the metadata entry \"neura.value\" is damaged")
        << view;
}

}  // namespace
}  // namespace neura
