#include "neura/serve/repository.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "neura/io/header.h"
#include "neura/serve/error_response.h"

namespace neura::serve {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFiles[] = {"model.neura", "model.onnx"};

// A folder's entries, sorted; none where it cannot be read.
std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> all;
  std::error_code error;
  for (fs::directory_iterator i(folder, error), end; !error && i != end; i.increment(error)) all.push_back(i->path());
  std::sort(all.begin(), all.end());
  return all;
}

bool is_version(const std::string& name) {
  return !name.empty() && name.size() < 19 && name.find_first_not_of("0123456789") == name.npos;
}

// Changes when one of the files does.
std::vector<std::string> print_of(const fs::path& file, bool with_folder) {
  std::vector<std::string> all;
  for (const fs::path& p : with_folder ? entries(file.parent_path()) : std::vector<fs::path>{file}) {
    struct stat s {};
    if (::stat(p.c_str(), &s) != 0 || !S_ISREG(s.st_mode)) continue;
    all.push_back(p.string() + " " + std::to_string(s.st_ino) + " " + std::to_string(s.st_size) + " " +
                  std::to_string(s.st_mtim.tv_sec) + "." + std::to_string(s.st_mtim.tv_nsec));
  }
  return all;
}

std::string model_in(const fs::path& folder) {
  std::error_code error;
  for (const char* name : kFiles)
    if (fs::is_regular_file(folder / name, error)) return (folder / name).string();
  return "";
}

}  // namespace

LoadedVersion::LoadedVersion(std::string n, std::string v, std::shared_ptr<const Model> m, const BatchOptions& o,
                             std::shared_ptr<ModelMetrics> s)
    : name(std::move(n)),
      version(std::move(v)),
      model(std::move(m)),
      metrics(std::move(s)),
      batcher(model, o, metrics) {}
LoadedVersion::~LoadedVersion() = default;

Repository::Repository(RepositoryOptions options, Metrics& metrics, Log log)
    : options_(std::move(options)), metrics_(metrics), log_(std::move(log)) {
  std::error_code error;
  check<IoError>(fs::exists(options_.path, error),
                 [&] { return "serve: expected a folder of models or a file, got nothing at " + options_.path; });
}

std::map<std::string, Repository::Candidates> Repository::found() const {
  std::map<std::string, Candidates> all;
  std::error_code error;
  const fs::path root(options_.path);
  if (!fs::is_directory(root, error)) {
    if (fs::exists(root, error)) all[root.stem().string()].push_back({1, root.string(), print_of(root, false)});
    return all;
  }
  for (const fs::path& folder : entries(root)) {
    const std::string name = folder.filename().string();
    if (name.starts_with(".") || !fs::is_directory(folder, error)) continue;
    Candidates& f = all[name];
    for (const fs::path& v : entries(folder))
      if (is_version(v.filename().string()))
        if (const std::string file = model_in(v); !file.empty())
          f.push_back({std::stoull(v.filename().string()), file, print_of(file, true)});
    if (const std::string file = model_in(folder); f.empty() && !file.empty())
      f.push_back({1, file, print_of(file, true)});
    std::sort(f.begin(), f.end(), [](const auto& a, const auto& b) { return a.version > b.version; });
  }
  return all;
}

Repository::Entry Repository::entry(const std::string& name) const {
  const std::scoped_lock lock(mutex_);
  const auto at = entries_.find(name);
  return at == entries_.end() ? Entry() : at->second;
}
void Repository::change(const std::string& name, const std::function<void(Entry&)>& f) {
  std::shared_ptr<LoadedVersion> old;  // its memory goes after the lock
  const std::scoped_lock lock(mutex_);
  Entry& e = entries_[name];
  old = e.current;
  f(e);
}

void Repository::look() {
  const std::scoped_lock lock(loading_);
  const std::map<std::string, Candidates> all = found();
  std::vector<std::string> names;
  {
    const std::scoped_lock entries_lock(mutex_);
    for (const auto& item : entries_) names.push_back(item.first);
  }
  for (const std::string& name : names)
    if (!all.count(name)) miss(name);
  for (const auto& [name, candidates] : all) look_at(name, candidates, !looked_);
  const bool none = std::all_of(all.begin(), all.end(), [](const auto& item) { return item.second.empty(); });
  if (!looked_ && none)
    log_("no models in " + options_.path + ": expected NAME/model.neura, NAME/model.onnx or NAME/1/… of them");
  looked_ = true;
}

void Repository::look_at(const std::string& name, const Candidates& all, bool first) {
  const Entry e = entry(name);
  Print seen;
  for (const Candidate& c : all) seen.insert(seen.end(), c.print.begin(), c.print.end());
  if (all.empty()) {
    if (e.current) miss(name);
    return;
  }
  change(name, [&](Entry& to) {
    to.seen = seen, to.missing = false;
    std::erase_if(to.failures, [&](const auto& f) {
      return std::none_of(all.begin(), all.end(), [&](const Candidate& c) { return c.version == f.first; });
    });
  });
  if (!e.wanted || !(first || seen == e.seen)) return;
  const bool there =
      e.current && std::any_of(all.begin(), all.end(), [&](const auto& c) { return c.version == e.version; });
  for (const Candidate& c : all) {
    if (e.current && c.print == e.loaded) return;
    const auto failed = e.failures.find(c.version);
    if ((failed == e.failures.end() || failed->second.print != c.print) && take(name, c)) return;
    if (there && c.version <= e.version) return;  // what was written over it does not work: it stays
  }
}

bool Repository::take(const std::string& name, const Candidate& c) {
  const std::string version = std::to_string(c.version), what = name + " version " + version;
  std::string why;
  try {
    const auto start = Clock::now();
    std::shared_ptr<const Model> model = load_model(c.file, options_.device);
    const auto metrics = metrics_.of(name, version);
    auto served = std::make_shared<LoadedVersion>(name, version, model, options_.batches, metrics);
    const Entry before = entry(name);
    if (before.current) before.current->metrics->loaded = false;
    metrics->loaded = true;
    change(name, [&](Entry& e) {
      e.current = std::move(served), e.loaded = c.print, e.version = c.version, e.wanted = true, e.missing = false;
      e.failures.erase(c.version);
    });
    char seconds[32];
    std::snprintf(seconds, sizeof seconds, "%.2f s", std::chrono::duration<double>(Clock::now() - start).count());
    log_("loaded " + what + " of " + c.file + " in " + seconds + (model->batches() ? ", requests share batches" : ""));
    for (const std::string& note : model->notes()) log_(what + ": " + note);
    metrics_.count_load(name, true);
    return true;
  } catch (const std::bad_alloc&) {
    why = "out of memory";
  } catch (const std::exception& e) {
    why = e.what();
  }
  metrics_.count_load(name, false);
  change(name, [&](Entry& e) { e.failures[c.version] = {c.print, why}; });
  const Entry e = entry(name);
  log_("failed to load " + what + ": " + why + (e.current ? "; version " + e.current->version + " stays" : ""));
  return false;
}

// Its files are not there; if they are not at the next look either, it goes.
void Repository::miss(const std::string& name) {
  if (entry(name).missing) leave(name);
  else change(name, [](Entry& e) { e.missing = true; });
}

void Repository::leave(const std::string& name) {
  const Entry e = entry(name);
  if (e.current) e.current->metrics->loaded = false;
  {
    const std::scoped_lock lock(mutex_);
    entries_.erase(name);
  }
  if (e.current) log_("left " + name + " version " + e.current->version + ": its files are gone");
}

std::shared_ptr<LoadedVersion> Repository::find(const std::string& name, const std::string& version) const {
  const std::scoped_lock lock(mutex_);
  const auto at = entries_.find(name);
  if (at == entries_.end()) throw ErrorResponse(404, "expected a model of the server, got " + io::shown(name));
  const Entry& e = at->second;
  if (!e.current)
    throw ErrorResponse(503, "the model \"" + name + "\" is not loaded" +
                                 (e.failures.empty() ? "" : ": " + e.failures.rbegin()->second.why));
  if (!version.empty() && version != e.current->version)
    throw ErrorResponse(404,
                        "expected version " + e.current->version + " of \"" + name + "\", got " + io::shown(version));
  return e.current;
}

void Repository::load(const std::string& name) {
  const std::scoped_lock lock(loading_);
  const std::map<std::string, Candidates> all = found();
  const auto at = all.find(name);
  if (at == all.end() || at->second.empty())
    throw ErrorResponse(404, "load: expected a model of the folder, got " + io::shown(name));
  if (take(name, at->second[0])) return;
  const std::uint64_t version = at->second[0].version;
  throw ErrorResponse(500, "load: version " + std::to_string(version) + " of \"" + name +
                               "\" cannot be loaded: " + entry(name).failures[version].why);
}

void Repository::unload(const std::string& name) {
  const std::scoped_lock lock(loading_);
  const Entry before = entry(name);
  {
    const std::scoped_lock entries_lock(mutex_);
    if (!entries_.count(name))
      throw ErrorResponse(404, "unload: expected a model of the server, got " + io::shown(name));
  }
  if (before.current) before.current->metrics->loaded = false;
  change(name, [](Entry& e) { e.current.reset(), e.loaded.clear(), e.wanted = false; });
  log_("unloaded " + name);
}

std::vector<Repository::VersionState> Repository::index() const {
  const std::scoped_lock lock(mutex_);
  std::vector<VersionState> rows;
  for (const auto& [name, e] : entries_) {
    if (e.current) rows.push_back({name, e.current->version, "READY", ""});
    for (const auto& [version, f] : e.failures) rows.push_back({name, std::to_string(version), "UNAVAILABLE", f.why});
    if (!e.current && e.failures.empty())
      rows.push_back({name, std::to_string(e.version), "UNAVAILABLE", e.wanted ? "not loaded yet" : "unloaded"});
  }
  return rows;
}

}  // namespace neura::serve
