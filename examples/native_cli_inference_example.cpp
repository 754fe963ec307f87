// A small program for others to run: it loads a trained model from one file and says what rows of numbers (CSV on
// standard input) or pictures (paths) show. The file is a program with its weights, so this binary knows no network.
//     native_cli_inference_example --make bars.neura           trains a model and writes the file
//     native_cli_inference_example bars.neura < rows.csv        64 grey values a row, 0 … 255
//     native_cli_inference_example bars.neura picture.png …     pictures of any size
// Python's neura.graph.export and the command `neura export` write such files, too. Without arguments, or with --quick,
// it makes one, pipes rows to itself, and compares the answers.
#include <neura/graph/trace.h>
#include <neura/io/program.h>
#include <neura/neura.h>

#include <filesystem>
#include <iostream>
#include <iterator>

#include "example.h"

using namespace neura;
namespace fs = std::filesystem;

constexpr const char* kKinds[] = {"lying bar", "upright bar"};

// 8 x 8 grey values 0 … 255 with a bright bar; [count, 1, 8, 8] and the kind of each.
std::pair<Tensor, Tensor> make_bars(std::int64_t count) {
  Tensor images = rand({count, 1, 8, 8}) * 80;
  const Tensor kinds = randint(2, {count}), places = randint(8, {count});
  for (std::int64_t i = 0; i < count; ++i)
    images[i][0].select(kinds[i].item<int>(), places[i].item<std::int64_t>()).fill_(240);
  return {images.to(uint8), kinds};
}

void make_model(const std::string& path) {
  manual_seed(1);
  nn::Sequential net{nn::Conv2d(1, 8, 3, {.padding = 1}), nn::ReLU(), nn::MaxPool2d(2), nn::Flatten(),
                     nn::Linear(8 * 16, 2)};
  optim::Adam optimizer(net.parameters(), {.lr = 5e-3});
  for (int step = 0; step < 80; ++step) {
    const auto [images, kinds] = make_bars(64);
    const Tensor loss = cross_entropy(net(images.to(float32) / 255), kinds);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
  }
  // What the network does to one picture, the scaling included, is written down as a program.
  net.eval();
  const NoGrad guard;
  const auto f = [&](std::span<const Tensor> in) { return std::vector{softmax(net(in[0].to(float32) / 255), 1)}; };
  save_program(path, graph::trace(f, {{zeros({1, 1, 8, 8}, {.dtype = uint8})}}),
               {.inputs = {"picture"}, .outputs = {"shares"}});
}

std::string answer(const ProgramFile& model, const Tensor& picture) {
  const Tensor shares = graph::run(model.program, {{picture.reshape({1, 1, 8, 8})}})[0];
  const auto kind = shares.argmax().item<std::int64_t>();
  char line[64];
  std::snprintf(line, sizeof line, "%s, %.0f %%", kKinds[kind], 100 * shares[0][kind].item<double>());
  return line;
}

int infer(const std::string& path, std::span<char*> pictures) {
  const ProgramFile model = load_program(path);
  for (const char* picture : pictures)  // colours become grey, and 8 x 8
    std::cout << answer(model, data::resize(data::read_image(picture, data::ImageMode::gray), 8, 8)) << "\n";
  if (!pictures.empty()) return 0;
  const std::string text(std::istreambuf_iterator<char>(std::cin), {});
  const Tensor rows = data::parse_csv(text, {}, "standard input").values;
  if (rows.dim() != 2 || rows.size(1) != 64) {
    std::cerr << "expected 64 numbers a row, got a table of " << rows.shape().str() << "\n";
    return 1;
  }
  for (const Tensor& row : unbind(rows)) std::cout << answer(model, row.to(uint8)) << "\n";
  return 0;
}

// What a command prints.
std::string output_of(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "r");
  std::string text;
  for (char part[256]; pipe && std::fgets(part, sizeof part, pipe);) text += part;
  example::check(pipe && pclose(pipe) == 0, command.c_str());
  return text;
}

int try_itself(const std::string& self) {
  const fs::path folder = fs::temp_directory_path() / "neura-native-cli-inference";
  fs::create_directories(folder);
  const std::string model = (folder / "bars.neura").string(), csv = (folder / "rows.csv").string();
  output_of("'" + self + "' --make '" + model + "'");

  const auto [images, kinds] = make_bars(20);
  std::string rows, picture = (folder / "bar.png").string();
  for (const Tensor& image : unbind(images)) {
    const std::vector<std::uint8_t> pixels = image.to_vector<std::uint8_t>();
    for (std::size_t i = 0; i < 64; ++i) rows += (i ? "," : "") + std::to_string(pixels[i]);
    rows += '\n';
  }
  if (FILE* file = std::fopen(csv.c_str(), "w")) std::fputs(rows.c_str(), file), std::fclose(file);
  data::write_png(picture, data::resize(images[0], 32, 32, "nearest"));

  const std::string from_csv = output_of("'" + self + "' '" + model + "' < '" + csv + "'");
  const std::string from_picture = output_of("'" + self + "' '" + model + "' '" + picture + "'");
  std::printf("%s…\n", from_csv.substr(0, from_csv.find('\n')).c_str());
  std::size_t at = 0;
  int right = 0;
  for (std::int64_t i = 0; i < 20; ++i, at = from_csv.find('\n', at) + 1)
    right += from_csv.compare(at, 9, std::string(kKinds[kinds[i].item<int>()]).substr(0, 9)) == 0;
  std::printf("%d of 20 rows are right; the picture: %s", right, from_picture.c_str());
  example::check(right >= 19, "rows on standard input are recognised");
  example::check(from_picture.starts_with(kKinds[kinds[0].item<int>()]), "and so is a larger picture from a file");
  fs::remove_all(folder);
  return 0;
}

int main(int argc, char** argv) try {
  if (argc > 2 && std::string_view(argv[1]) == "--make") return make_model(argv[2]), 0;
  if (argc > 1 && argv[1][0] != '-') return infer(argv[1], {argv + 2, argv + argc});
  example::options(argc, argv,
                   "Runs a model of a file on CSV of standard input, or on pictures: [MODEL [PICTURE ...]]");
  return try_itself(argv[0]);
} catch (const Error& e) {
  std::cerr << e.what() << "\n";
  return 1;
}
