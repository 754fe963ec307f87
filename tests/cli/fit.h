// Tiny data for neura train images, table and text, and the program run on them.
#pragma once
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "neura/data/png.h"
#include "tests/cli/tiny.h"

namespace neura::test {

struct Fits : Cli {
  void SetUp() override {}

  // Two classes: bright bars across, bright bars down.
  void draw(const std::string& root, int each) {
    Dice dice{7};
    for (const std::string name : {"across", "down"}) {
      const std::filesystem::path folder = std::filesystem::path(root) / name;
      std::filesystem::create_directories(folder);
      for (int i = 0; i < each; ++i) {
        Tensor x = Tensor::empty(Spec::dense(uint8, Shape{3, 16, 16}));
        const std::int64_t bar = dice.below(14);
        for (std::int64_t j = 0; j < x.numel(); ++j) {
          const std::int64_t place = name == "across" ? j / 16 % 16 : j % 16;
          x.data<std::uint8_t>()[j] = std::uint8_t((place / 2 == bar / 2 ? 200 : 0) + dice.below(40));
        }
        data::write_png((folder / (std::to_string(i) + ".png")).string(), x);
      }
    }
  }

  // y is "up" where a > b, whatever the colour; z = 3 a - 2 b + 5.5. With gaps, some cells of a are empty.
  void write_table(const std::string& path, int rows, bool gaps = true) {
    Dice dice{11};
    std::ofstream out(path);
    out << "id,a,b,colour,y,z\n";
    for (int i = 0; i < rows; ++i) {
      const double a = double(dice.below(2000)) / 100, b = double(dice.below(2000)) / 100;
      out << i << "," << (gaps && i % 50 == 49 ? "" : std::to_string(a)) << "," << b << ","
          << (dice.below(2) ? "\"red, dark\"" : "blue") << "," << (a > b ? "up" : "down") << "," << 3 * a - 2 * b + 5.5
          << "\n";
    }
  }
  void write(const std::string& name, const std::string& text) {
    std::ofstream(folder / name, std::ios::binary) << text;
  }
  void write_poem(const std::string& name, int lines) {
    std::string text;
    for (int i = 0; i < lines; ++i) text += "one two three four five\n";
    write(name, text);
  }

  // The number after `name` in what was printed last.
  double printed(const std::string& name) {
    const std::string text = out();
    const std::size_t at = text.rfind(name);
    return at == std::string::npos ? std::nan("") : std::stod(text.substr(at + name.size()));
  }
  std::vector<nlohmann::json> json_lines(const std::string& text) {
    std::vector<nlohmann::json> all;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) all.push_back(nlohmann::json::parse(line));
    return all;
  }
  // Stopped by Ctrl-C in the epoch after `moment`, and continued with: the run that was never stopped.
  void expect_resumes(std::vector<std::string> arguments, const std::string& moment) {
    const auto with_out = [&](const std::string& name) {
      std::vector<std::string> all = arguments;
      all.insert(all.end(), {"--out", name});
      return all;
    };
    ASSERT_EQ(run(with_out("whole")), 0) << err();
    int code = 0;
    for (int attempt = 0; code == 0 && attempt < 20; ++attempt) {  // 0: it was done before the signal came
      std::filesystem::remove_all(folder / "parts");
      Program p(folder.path(), with_out("parts"));
      code = interrupt_after(p, moment);
    }
    ASSERT_EQ(code, 130) << err();
    EXPECT_NE(out().find("continue with: neura train " + arguments[1] + " --resume parts"), std::string::npos) << out();
    // As a process leaves it that was killed after its checkpoint: lines of later steps, the last one torn.
    std::ofstream(folder / "parts/log.jsonl", std::ios::app) << R"({"step":1000000,"epoch":3.5,"loss":1})"
                                                             << "\n{\"step\":1";
    ASSERT_EQ(run({"train", arguments[1], "--resume", "parts"}), 0) << err();
    expect_same_run(last_checkpoint("whole"), last_checkpoint("parts"));
    expect_same_log("whole", "parts");
    ASSERT_EQ(run({"train", arguments[1], "--resume", "parts"}), 0) << err();
    EXPECT_NE(out().find("parts is already trained"), std::string::npos) << out();
  }
  void expect_same_log(const std::string& a, const std::string& b) {
    auto x = json_lines(text_of(folder / (a + "/log.jsonl"))), y = json_lines(text_of(folder / (b + "/log.jsonl")));
    ASSERT_EQ(x.size(), y.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i].erase("seconds"), y[i].erase("seconds");
      EXPECT_EQ(x[i], y[i]) << i;
    }
  }
  void expect_page(const std::string& path, std::vector<std::string> parts) {
    const std::string page = text_of(folder / path);
    parts.insert(parts.end(), {"<svg", "Settings", "prefers-color-scheme: dark"});
    for (const std::string& part : parts) EXPECT_NE(page.find(part), std::string::npos) << part;
    for (const char* foreign : {"http://", "https://", "<script", "@import", "url("})
      EXPECT_EQ(page.find(foreign), std::string::npos);
  }
};

}  // namespace neura::test
