#include "cli/train_file.h"

#include <filesystem>

#ifdef NEURA_TOML
#include <toml++/toml.h>
#endif

#include "cli/ports.h"
#include "cli/task.h"
#include "neura/core/error.h"
#include "neura/core/file.h"
#include "neura/core/scalar.h"

namespace neura::cli {
namespace {

std::string quoted(const std::string& text) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') out += std::string("\\") + c;
    else if (byte < 0x20 || byte == 0x7f) out += std::string("\\u00") + kHex[byte >> 4] + kHex[byte & 15];
    else out += c;
  }
  return out + '"';
}

}  // namespace

std::string train_file_of(const Config& c, const FitOptions& o) {
  std::string text = "# neura train this file: the same run once more.\ntask = " + quoted(c.task) + "\n";
  const auto say = [&](const char* key, const std::string& value) {
    if (!value.empty()) text += std::string(key) + " = " + quoted(value) + "\n";
  };
  say("data", c.data), say("target", o.target), say("as", o.as);
  if (!o.tokenizer.empty()) say("tokenizer", std::filesystem::absolute(o.tokenizer).string());
  say("model", c.model);
  text += "epochs = " + std::to_string(c.epochs) + "\nbatch_size = " + std::to_string(c.batch_size) +
          "\nlr = " + Scalar(c.lr).str() + "\nseed = " + std::to_string(c.seed) + "\n";
  if (c.quick) text += "quick = true\n";
  say("device", o.device);
  text += "\n[settings]\n";
  for (const auto& [name, value] : c.hyperparameters) text += name + " = " + Scalar(value).str() + "\n";
  return text;
}

#ifdef NEURA_TOML
namespace {

constexpr std::size_t kFar = 3;  // changed letters that no slip of the pen makes

std::size_t distance(const std::string& a, const std::string& b) {  // in letters that are put in, taken out or changed
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t before = row[0]++;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = before + (a[i - 1] != b[j - 1]);
      before = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
    }
  }
  return row.back();
}

// "; did you mean ..?", or which there are.
std::string hint(const std::string& name, const std::vector<std::string>& all) {
  std::string nearest, list;
  std::size_t least = kFar + 1;
  for (const std::string& known : all) {
    if (const std::size_t d = distance(name, known); d < least) least = d, nearest = known;
    list += (list.empty() ? "" : ", ") + known;
  }
  return least <= kFar ? "; did you mean \"" + nearest + "\"?" : "; there are " + list;
}

struct File {
  std::string path;
  FitOptions options = {};
  std::vector<std::pair<std::string, std::string>> settings = {};  // name and number

  [[noreturn]] void wrong(const std::string& key, const char* expected, const toml::node& got) const {
    std::ostringstream text;
    got.visit([&](const auto& value) { text << value; });
    throw ValueError(path + ": expected " + key + " to be " + expected + ", got " + text.str());
  }
  std::string text(const std::string& key, const toml::node& node) const {
    if (!node.is_string()) wrong(key, "a text", node);
    return **node.as_string();
  }
  // Data and tokenizer are named from where the file is; "-" is standard input.
  std::string place(const std::string& key, const toml::node& node) const {
    const std::filesystem::path named = text(key, node);
    return named.empty() || named == "-" ? named.string()
                                         : (std::filesystem::absolute(path).parent_path() / named).string();
  }
  std::int64_t whole(const std::string& key, const toml::node& node, std::int64_t least, std::int64_t most) const {
    const std::string expected = "a whole number from " + std::to_string(least) + " to " + std::to_string(most);
    const auto* number = node.as_integer();
    if (!number || **number < least || **number > most) wrong(key, expected.c_str(), node);
    return **number;
  }
  double number(const std::string& key, const toml::node& node, double least, double most) const {
    const std::string expected = "a number from " + Scalar(least).str() + " to " + Scalar(most).str();
    const auto value = node.is_number() ? node.value<double>() : std::nullopt;
    if (!value || !(*value >= least && *value <= most)) wrong(key, expected.c_str(), node);
    return *value;
  }
};

struct Key {
  const char* name;
  void (*take)(File&, const std::string& key, const toml::node&);
};
const std::vector<Key>& keys() {
  using N = const toml::node&;
  using K = const std::string&;
  static const std::vector<Key> all = {
      {"task", [](File& f, K k, N n) { f.options.task = f.text(k, n); }},
      {"data", [](File& f, K k, N n) { f.options.data = f.place(k, n); }},
      {"model", [](File& f, K k, N n) { f.options.model = f.text(k, n); }},
      {"epochs", [](File& f, K k, N n) { f.options.epochs = f.whole(k, n, 1, 100000); }},
      {"batch_size", [](File& f, K k, N n) { f.options.batch_size = f.whole(k, n, 1, 1000000); }},
      {"lr", [](File& f, K k, N n) { f.options.lr = f.number(k, n, 1e-12, 1e3); }},
      {"seed", [](File& f, K k, N n) { f.options.seed = std::uint64_t(f.whole(k, n, 0, INT64_MAX)); }},
      {"quick",
       [](File& f, K k, N n) {
         if (!n.is_boolean()) f.wrong(k, "true or false", n);
         f.options.quick = **n.as_boolean();
       }},
      {"device", [](File& f, K k, N n) { f.options.device = f.text(k, n); }},
      {"out", [](File& f, K k, N n) { f.options.out = f.text(k, n); }},
      {"target", [](File& f, K k, N n) { f.options.target = f.text(k, n); }},
      {"as",
       [](File& f, K k, N n) {
         f.options.as = f.text(k, n);
         if (f.options.as != "classification" && f.options.as != "regression")
           f.wrong(k, "\"classification\" or \"regression\"", n);
       }},
      {"tokenizer", [](File& f, K k, N n) { f.options.tokenizer = f.place(k, n); }},
      {"settings", [](File& f, K k, N n) {
         if (!n.is_table()) f.wrong(k, "a table of numbers", n);
         for (const auto& [name, value] : *n.as_table()) {
           const std::string setting(name.str());
           f.settings.emplace_back(setting, Scalar(f.number("settings." + setting, value, -1e300, 1e300)).str());
         }
       }}};
  return all;
}

const Key* find(const std::string& name) {
  const auto at = std::find_if(keys().begin(), keys().end(), [&](const Key& k) { return name == k.name; });
  return at == keys().end() ? nullptr : &*at;
}
std::vector<std::string> names_of_keys() {
  std::vector<std::string> names;
  for (const Key& k : keys()) names.emplace_back(k.name);
  return names;
}
std::vector<std::string> names_of_settings(const TaskKind& kind) {
  std::vector<std::string> names;
  for (const Hyperparameter& h : kind.hyperparameters) names.emplace_back(h.name);
  return names;
}

toml::table parsed(const std::string& text, const std::string& path) {
  try {
    return toml::parse(text, path);
  } catch (const toml::parse_error& e) {
    throw FormatError(path + ": expected TOML, got an error in line " + std::to_string(e.source().begin.line) + ": " +
                      std::string(e.description()));
  }
}

// The value of KEY=VALUE as it would be in the file; a word needs no quotes.
toml::table value_of(const std::string& text) {
  try {
    return toml::parse("value = " + text);
  } catch (const toml::parse_error&) {
    return toml::parse("value = " + quoted(text));
  }
}

void take(File& f, const toml::table& all) {
  for (const auto& [name, node] : all) {
    const std::string key(name.str());
    const Key* known = find(key);
    check<ValueError>(known, [&] {
      return f.path + ": expected the keys of a run, got \"" + key + '"' + hint(key, names_of_keys());
    });
    known->take(f, key, node);
  }
}

void take_setting(File& f, const std::string& setting) {
  auto [key, text] = parted(setting);
  if (key.starts_with("settings.")) key.erase(0, std::string("settings.").size());
  else if (const Key* known = find(key); known && key != "settings") {
    File here{.path = "--set", .options = f.options};
    known->take(here, key, *value_of(text).get("value"));
    f.options = here.options;
    if (!here.options.data.empty() && key == "data") f.options.data = text;  // from here, not from the file's folder
    if (key == "tokenizer") f.options.tokenizer = text;
    return;
  }
  f.settings.emplace_back(key, text);
}

void check_names(const File& f) {
  std::vector<std::string> tasks;
  for (const TaskKind& k : task_kinds()) tasks.emplace_back(k.name);
  check<ValueError>(!f.options.task.empty(), [&] {
    return f.path + ": expected task = \"" + tasks.front() + "\" or another, got none" + hint("", tasks);
  });
  check<ValueError>(std::find(tasks.begin(), tasks.end(), f.options.task) != tasks.end(), [&] {
    return f.path + ": expected a task, got \"" + f.options.task + '"' + hint(f.options.task, tasks);
  });
  const TaskKind& kind = kind_of(f.options.task);
  const std::vector<std::string> models(kind.models.begin(), kind.models.end()), settings = names_of_settings(kind);
  if (f.options.model)
    check<ValueError>(std::find(models.begin(), models.end(), *f.options.model) != models.end(), [&] {
      return f.path + ": expected a model of " + f.options.task + ", got \"" + *f.options.model + '"' +
             hint(*f.options.model, models);
    });
  for (const auto& setting : f.settings) {
    const std::string& name = setting.first;
    check<ValueError>(std::find(settings.begin(), settings.end(), name) != settings.end(), [&] {
      std::vector<std::string> all = settings;
      for (const std::string& key : names_of_keys()) all.push_back(key);
      return f.path + ": expected a setting of " + f.options.task + ", got \"" + name + '"' + hint(name, all);
    });
  }
}

}  // namespace

FitOptions read_train_file(const std::string& path, const std::vector<std::string>& settings) {
  File f{.path = path};
  take(f, parsed(io::read_file(path), path));
  for (const std::string& s : settings) take_setting(f, s);
  check_names(f);
  for (const auto& [name, value] : f.settings) f.options.settings.emplace_back(name).append("=").append(value);
  return f.options;
}
#else
FitOptions read_train_file(const std::string& path, const std::vector<std::string>&) {
  throw NotImplementedError("train: expected a program built with toml++ for " + path +
                            ", got one without; install libtomlplusplus-dev and build Neura again");
}
#endif

}  // namespace neura::cli
