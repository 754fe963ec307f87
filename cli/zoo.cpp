#include "cli/zoo.h"

#include <algorithm>
#include <array>

#include "neura/core/error.h"
#include "neura/models/mobilenet.h"
#include "neura/models/resnet.h"
#include "neura/models/small.h"
#include "neura/models/vgg.h"
#include "neura/models/vision_transformer.h"

namespace neura::cli {
namespace {

using nlohmann::json;
using Module = Ref<nn::Module>;

// MobileNetV2's rows, of which the first two that halve a picture do not: small ones would be a single pixel at the
// end.
const std::vector<std::array<std::int64_t, 4>> kSmallMobileNet = {
    {1, 16, 1, 1}, {6, 24, 2, 1}, {6, 32, 3, 1}, {6, 64, 4, 2}, {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
constexpr std::int64_t kSmallSide = 96;  // from here on a picture is as networks for ImageNet expect it
constexpr std::int64_t kPatches = 8;     // a side that a small transformer cuts a picture into

std::int64_t classes_of(const json& a) { return a.at("num_classes").get<std::int64_t>(); }

models::ResNetOptions resnet(const json& a) {
  return {.num_classes = classes_of(a), .small_images = a.value("small_images", false)};
}
models::VggOptions vgg(const json& a) {
  return {.num_classes = classes_of(a), .small_images = a.value("small_images", false)};
}
models::VisionTransformerOptions vit(const json& a) {
  return {.image_size = a.at("image_size").get<std::int64_t>(),
          .patch_size = a.value("patch_size", std::int64_t{16}),
          .num_classes = classes_of(a)};
}

struct Entry {
  const char* name;
  json (*arguments)(std::int64_t classes, std::int64_t side);
  Module (*make)(const json&);
  std::int64_t least = 1, multiple = 1;  // of the sides of pictures
};

json plain(std::int64_t n, std::int64_t) { return {{"num_classes", n}}; }
json sized(std::int64_t n, std::int64_t side) { return {{"num_classes", n}, {"image_size", side}}; }
json scaled(std::int64_t n, std::int64_t side) {
  json a = plain(n, side);
  if (side < kSmallSide) a["small_images"] = true;
  return a;
}

const std::vector<Entry>& entries() {
  static const std::vector<Entry> all = {
      {"cifar_resnet8", plain, [](const json& a) -> Module { return models::cifar_resnet8({classes_of(a)}); }},
      {"cifar_resnet20", plain, [](const json& a) -> Module { return models::cifar_resnet20({classes_of(a)}); }},
      {"resnet18", scaled, [](const json& a) -> Module { return models::resnet18(resnet(a)); }},
      {"resnet34", scaled, [](const json& a) -> Module { return models::resnet34(resnet(a)); }},
      {"resnet50", scaled, [](const json& a) -> Module { return models::resnet50(resnet(a)); }},
      {"mobilenet_v2",
       [](std::int64_t n, std::int64_t side) {
         json a = plain(n, side);
         if (side < kSmallSide) a["inverted_residual_setting"] = kSmallMobileNet;
         return a;
       },
       [](const json& a) -> Module {
         return models::mobilenet_v2({.num_classes = classes_of(a),
                                      .inverted_residual_setting = a.value(
                                          "inverted_residual_setting", std::vector<std::array<std::int64_t, 4>>{})});
       }},
      {"vgg11_bn", scaled, [](const json& a) -> Module { return models::vgg11_bn(vgg(a)); }, 32},
      {"vgg16_bn", scaled, [](const json& a) -> Module { return models::vgg16_bn(vgg(a)); }, 32},
      {"vit_tiny",
       [](std::int64_t n, std::int64_t side) {
         json a = sized(n, side);
         a["patch_size"] = side / kPatches;
         return a;
       },
       [](const json& a) -> Module { return models::vit_tiny(vit(a)); }, 2 * kPatches, kPatches},
      {"vit_b_16", sized, [](const json& a) -> Module { return models::vit_b_16(vit(a)); }, 16, 16},
      {"vit_b_32", sized, [](const json& a) -> Module { return models::vit_b_32(vit(a)); }, 32, 32},
      {"lenet", sized,
       [](const json& a) -> Module {
         return models::lenet({.num_classes = classes_of(a), .image_size = a.at("image_size").get<std::int64_t>()});
       },
       12},
      {"mlp",
       [](std::int64_t n, std::int64_t side) {
         return json{{"inputs", 3 * side * side}, {"outputs", n}, {"hidden", 512}, {"layers", 2}, {"dropout", 0.2}};
       },
       [](const json& a) -> Module {
         return models::mlp({.inputs = a.at("inputs").get<std::int64_t>(),
                             .outputs = a.at("outputs").get<std::int64_t>(),
                             .hidden = a.at("hidden").get<std::int64_t>(),
                             .layers = a.at("layers").get<std::int64_t>(),
                             .dropout = a.at("dropout").get<double>()});
       }}};
  return all;
}

const Entry& entry_of(const std::string& name) {
  const auto at = std::find_if(entries().begin(), entries().end(), [&](const Entry& e) { return name == e.name; });
  check<FormatError>(at != entries().end(), [&] { return "expected a network for pictures, got \"" + name + '"'; });
  return *at;
}

}  // namespace

std::vector<const char*> picture_models() {
  std::vector<const char*> names;
  for (const Entry& e : entries()) names.push_back(e.name);
  return names;
}

std::int64_t side_for(const std::string& name, std::int64_t side) {
  const Entry& e = entry_of(name);
  return std::max(e.least, (side + e.multiple - 1) / e.multiple * e.multiple);
}

Architecture picture_model(const std::string& name, std::int64_t classes, std::int64_t side) {
  const Entry& e = entry_of(name);
  const std::int64_t fits = side_for(name, side);
  check<ValueError>(side == fits, [&] {
    return name + ": expected pictures of " + std::to_string(e.least) + " pixels a side or more" +
           (e.multiple > 1 ? ", in steps of " + std::to_string(e.multiple) : "") + ", got " + std::to_string(side) +
           "; pass --set size=" + std::to_string(fits);
  });
  return {name, e.arguments(classes, side)};
}

Ref<nn::Sequential> network_of(const Architecture& a) {
  try {
    const Module m = entry_of(a.name).make(a.arguments);
    if (auto* as_it_is = m->as<nn::Sequential>()) return Ref<nn::Sequential>::share(as_it_is);
    auto net = nn::make<nn::Sequential>();
    net->append(m);
    return net;
  } catch (const json::exception&) {
    throw FormatError("expected the arguments of " + a.name + ", got " + a.arguments.dump());
  }
}

void to_json(json& j, const Architecture& a) { j = {{"architecture", a.name}, {"arguments", a.arguments}}; }
void from_json(const json& j, Architecture& a) { j.at("architecture").get_to(a.name), a.arguments = j.at("arguments"); }

}  // namespace neura::cli
