#include "cli/run_page.h"

#include "cli/answers.h"
#include "cli/html.h"
#include "cli/machine.h"
#include "cli/progress.h"
#include "neura/core/file.h"
#include "neura/core/scalar.h"
#include "neura/core/version.h"

namespace neura::cli {
namespace {

std::string shown(const std::string& name, double value) { return name == "accuracy" ? percent(value) : number(value); }

std::string charts(const RunPage& p) {
  std::vector<Series> losses = {{"training", "one", p.log.curve("loss"), false},
                                {"validation", "two", p.log.curve("val/loss"), true}};
  if (p.other_log) losses.push_back({"training, " + p.other, "three", p.other_log->curve("loss"), false});
  const std::string name = p.measured.values.front().first;
  const bool part = name == "accuracy";
  std::vector<Series> values = {{"validation", "two", p.log.curve("val/" + name), true}};
  if (part) values.insert(values.begin(), {"training", "one", p.log.curve(name), false});
  for (Series& s : values)
    for (auto& [place, value] : s.points) value *= part ? 100 : 1;
  return "<div class=pair>" + chart("Loss", losses, 2) + chart(part ? "Accuracy, %" : name, values, 1) + "</div>";
}

std::string epochs(const RunPage& p) {
  const bool classes = p.task.target_kind() == TargetKind::classes;
  std::string out = "<div class=\"card scroll\"><table class=list><tr><th>epoch<th>loss";
  if (classes) out += "<th>accuracy";
  out += "<th>validation loss";
  for (const auto& [name, value] : p.measured.values) out += "<th>validation " + escape(name);
  out += "<th>time";
  if (p.other_log) out += "<th>loss, " + escape(p.other) + "<th>validation loss, " + escape(p.other);
  out += "</tr>";
  for (const auto& [place, loss] : p.log.curve("val/loss")) {
    out += "<tr><td>" + fixed(place, 0) + "<td>" + fixed(p.log.mean("loss", place - 1, place), 4);
    if (classes) out += "<td>" + percent(p.log.mean("accuracy", place - 1, place));
    out += "<td>" + fixed(loss, 4);
    for (const auto& [name, value] : p.measured.values)
      out += "<td>" + shown(name, p.log.mean("val/" + name, place - 0.5, place));
    out += "<td>" + duration(p.log.mean("seconds", place - 0.5, place));
    if (p.other_log)
      out += "<td>" + fixed(p.other_log->mean("loss", place - 1, place), 4) + "<td>" +
             fixed(p.other_log->mean("val/loss", place - 0.5, place), 4);
    out += "</tr>";
  }
  return out + "</table></div>";
}

std::string mistakes(const RunPage& p) {
  if (!p.set.picture) return "";
  std::string out;
  for (const Misprediction& m : p.measured.mistakes) {
    const std::string label = escape(p.task.classes()[std::size_t(m.label)]),
                      prediction = escape(p.task.classes()[std::size_t(m.prediction)]);
    out += "<figure><img alt=\"" + label + "\" src=\"data:image/png;base64," + base64(p.set.picture(m.item)) +
           "\"><figcaption><b>" + label + "</b><br>taken for " + prediction + "<br>" + percent(m.probability) +
           " sure, no. " + std::to_string(m.item) + "</figcaption></figure>";
  }
  return "<h2>Surest mistakes</h2>" + (out.empty() ? "<p>None.</p>" : "<div class=pictures>" + out + "</div>");
}

std::string settings(const RunPage& p) {
  const Config& c = p.config;
  std::string hyperparameters;
  for (const auto& [name, value] : c.hyperparameters)
    hyperparameters += (hyperparameters.empty() ? "" : ", ") + name + "=" + Scalar(value).str();
  return facts({{"data", c.data.empty() ? "those that are installed" : c.data},
                {"model", c.model},
                {"epochs", std::to_string(c.epochs)},
                {"batch size", std::to_string(c.batch_size)},
                {"learning rate", Scalar(c.lr).str() + " at most, one cycle; AdamW"},
                {"seed", std::to_string(c.seed)},
                {"others", hyperparameters},
                {"training", duration(p.log.sum("seconds"))},
                {"device", p.device.is_cpu() ? "cpu" : p.device.str() + ", " + device_name(p.device)},
                {"processor", processor_name() + ", " + instruction_set()},
                {"Neura", kVersion}});
}

}  // namespace

void write_run_page(const std::string& path, const RunPage& p) {
  const std::string name = p.config.name();
  std::string big;
  for (const auto& [what, value] : p.measured.values) big += figure(shown(what, value), what);
  big += figure(fixed(p.measured.loss, 4), "loss") + figure(duration(p.log.sum("seconds")), "training time") +
         figure(thousands(p.measured.count), p.task.things() + std::string(" tested with"));
  std::string body = "<h1>" + escape(name) + "</h1><p class=sub>" + escape(p.config.task + ", " + p.config.model) +
                     "</p><div class=big>" + big + "</div>";
  if (!p.log.curve("val/loss").empty()) body += "<h2>How it went</h2>" + charts(p) + "<h2>Epochs</h2>" + epochs(p);
  if (!p.measured.confusion.empty())
    body += "<h2>What is taken for what</h2>" + confusion_table(p.task.classes(), p.measured.confusion) + mistakes(p);
  if (const std::string text = p.log.last_text("sample"); !text.empty())
    body += "<h2>What it writes</h2><div class=card style=\"white-space: pre-wrap\">" + escape(text) + "</div>";
  io::write_file(path, html_page(name + ", " + p.config.model, body + "<h2>Settings</h2>" + settings(p)));
}

}  // namespace neura::cli
