#include "cli/report.h"

#include <algorithm>

#include "cli/html.h"
#include "cli/machine.h"
#include "cli/progress.h"
#include "neura/core/file.h"
#include "neura/core/parallel.h"
#include "neura/core/version.h"
#include "neura/data/png.h"

namespace neura::cli {
namespace {

constexpr std::size_t kMistakes = 24;

std::string charts(const History& h, const std::optional<OtherRun>& other) {
  std::vector<std::pair<double, double>> test_loss, train_accuracy, test_accuracy;
  std::vector<Series> losses = {{"training", "one", h.curve, false}};
  for (std::size_t i = 0; i < h.epochs.size(); ++i) {
    const double x = double(i + 1);
    test_loss.emplace_back(x, h.epochs[i].test_loss);
    train_accuracy.emplace_back(x, 100 * h.epochs[i].train_accuracy);
    test_accuracy.emplace_back(x, 100 * h.epochs[i].test_accuracy);
  }
  losses.push_back({"test", "two", test_loss, true});
  if (other) losses.push_back({"training, " + other->name, "three", other->history.curve, false});
  return "<div class=pair>" + chart("Loss", losses, 2) +
         chart("Accuracy, %", {{"training", "one", train_accuracy, true}, {"test", "two", test_accuracy, true}}, 1) +
         "</div>";
}

std::string epoch_table(const History& h, const std::optional<OtherRun>& other) {
  std::string out =
      "<div class=\"card scroll\"><table class=list><tr><th>epoch<th>loss<th>accuracy<th>test loss<th>test "
      "accuracy<th>time";
  if (other) out += "<th>loss, " + escape(other->name) + "<th>test loss, " + escape(other->name);
  out += "</tr>";
  for (std::size_t i = 0; i < h.epochs.size(); ++i) {
    const EpochRecord& r = h.epochs[i];
    out += "<tr><td>" + std::to_string(i + 1) + "<td>" + fixed(r.train_loss, 4) + "<td>" + percent(r.train_accuracy) +
           "<td>" + fixed(r.test_loss, 4) + "<td>" + percent(r.test_accuracy) + "<td>" + duration(r.seconds);
    if (other && i < other->history.epochs.size())
      out += "<td>" + fixed(other->history.epochs[i].train_loss, 4) + "<td>" +
             fixed(other->history.epochs[i].test_loss, 4);
    out += "</tr>";
  }
  return out + "</table></div>";
}

std::string matrix(const Report& r) {
  const auto& names = r.settings.classes;
  std::string out = "<div class=\"card scroll\"><table class=matrix><thead><tr><th>";
  for (const std::string& name : names) out += "<th>" + escape(name);
  out += "</tr></thead>";
  for (std::size_t is = 0; is < names.size(); ++is) {
    const auto& row = r.result.confusion[is];
    std::int64_t all = 0;
    for (std::int64_t n : row) all += n;
    out += "<tr><th>" + escape(names[is]);
    for (std::size_t guessed = 0; guessed < row.size(); ++guessed) {
      const double part = all ? double(row[guessed]) / double(all) : 0;
      // The eye should find few mistakes beside many hits: their shade grows faster.
      const double shade = is == guessed ? 0.1 + 0.6 * part : std::min(0.75, 4 * part);
      out += std::string("<td style=\"background: rgba(var(--") + (is == guessed ? "good" : "bad") + "), " +
             fixed(shade, 3) + ")\" title=\"" + escape(names[is]) + " taken for " + escape(names[guessed]) + ": " +
             percent(part) + "\">" + (row[guessed] ? std::to_string(row[guessed]) : "");
    }
    out += "</tr>";
  }
  return out + "</table><small>Rows: what the pictures show. Columns: what the network says.</small></div>";
}

std::string mistakes(const Report& r) {
  std::vector<Guess> wrong;
  for (const Guess& g : r.result.guesses)
    if (g.is != g.guessed) wrong.push_back(g);
  std::stable_sort(wrong.begin(), wrong.end(),
                   [](const Guess& a, const Guess& b) { return a.probability > b.probability; });
  if (wrong.size() > kMistakes) wrong.resize(kMistakes);
  if (wrong.empty()) return "<p>None.</p>";
  std::string out = "<div class=pictures>";
  for (const Guess& g : wrong) {
    const std::string is = escape(r.settings.classes[std::size_t(g.is)]),
                      guessed = escape(r.settings.classes[std::size_t(g.guessed)]);
    out += "<figure><img alt=\"" + is + "\" src=\"data:image/png;base64," +
           base64(data::encode_png(r.set.get(g.picture).first)) + "\"><figcaption><b>" + is + "</b><br>taken for " +
           guessed + "<br>" + percent(g.probability) + " sure, no. " + std::to_string(g.picture) +
           "</figcaption></figure>";
  }
  return out + "</div>";
}

std::string configuration(const Report& r) {
  const Settings& s = r.settings;
  double seconds = 0;
  for (const EpochRecord& e : r.history.epochs) seconds += e.seconds;
  const std::pair<const char*, std::string> rows[] = {
      {"model", s.model},
      {"epochs", std::to_string(s.epochs)},
      {"batch size", std::to_string(s.batch_size)},
      {"learning rate", Scalar(s.lr).str() + " at most, one cycle; AdamW"},
      {"seed", std::to_string(s.seed)},
      {"pictures", std::to_string(s.height) + " × " + std::to_string(s.width)},
      {"training", duration(seconds)},
      {"test", duration(r.result.seconds) + " for " + thousands(r.set.size()) + " pictures"},
      {"device", r.device.is_cpu() ? "cpu" : r.device.str() + ", " + device_name(r.device)},
      {"processor", processor_name() + ", " + std::to_string(get_num_threads()) + " threads, " + instruction_set()},
      {"Neura", kVersion}};
  std::string out = "<dl class=card>";
  for (const auto& [name, value] : rows) out += std::string("<dt>") + name + "<dd>" + escape(value);
  return out + "</dl>";
}

}  // namespace

std::string report_page(const Report& r) {
  double seconds = 0;
  for (const EpochRecord& e : r.history.epochs) seconds += e.seconds;
  const auto number = [](const std::string& value, const char* text) {
    return "<div><b>" + value + "</b><small>" + text + "</small></div>";
  };
  std::string page =
      "<!doctype html><html lang=en><head><meta charset=utf-8><meta name=viewport content=\"width=device-width\">"
      "<title>" +
      escape(r.data) + ", " + escape(r.settings.model) + "</title><style>" + kStyle + "</style></head><body>";
  page += "<h1>" + escape(r.data) + "</h1><p class=sub>" + escape(r.settings.model) + ", " +
          std::to_string(r.history.epochs.size()) + " of " + std::to_string(r.settings.epochs) +
          " epochs</p><div class=big>" + number(percent(r.result.accuracy), "test accuracy") +
          number(fixed(r.result.loss, 4), "test loss") + number(duration(seconds), "training time") +
          number(thousands(r.set.size()), "test pictures") + "</div>";
  if (!r.history.epochs.empty())
    page += "<h2>How it went</h2>" + charts(r.history, r.other) + "<h2>Epochs</h2>" + epoch_table(r.history, r.other);
  page += "<h2>What is taken for what</h2>" + matrix(r) + "<h2>Surest mistakes</h2>" + mistakes(r) +
          "<h2>Settings</h2>" + configuration(r);
  return page + "</body></html>\n";
}

void write_report(const std::string& path, const Report& r) { io::write_file(path, report_page(r)); }

}  // namespace neura::cli
