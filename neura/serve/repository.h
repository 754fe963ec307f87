// The models of a folder: which versions there are, which one answers, and how a new one takes its place.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "neura/serve/batcher.h"

namespace neura::serve {

struct RepositoryOptions {
  std::string path;  // DIR/name/version/model.{neura,onnx}, DIR/name/model.{neura,onnx}, or one such file of any name
  Device device = {};
  BatchOptions batches = {};
};

// A version in service. The thread of a request holds it until the answer is written, even if it is unloaded meanwhile.
struct LoadedVersion {
  LoadedVersion(std::string n, std::string v, std::shared_ptr<const Model> m, const BatchOptions& o,
                std::shared_ptr<ModelMetrics> s);
  LoadedVersion(const LoadedVersion&) = delete;
  ~LoadedVersion();
  const std::string name, version;
  const std::shared_ptr<const Model> model;
  const std::shared_ptr<ModelMetrics> metrics;
  Batcher batcher;
};

class Repository {
 public:
  using Log = std::function<void(const std::string&)>;
  Repository(RepositoryOptions, Metrics&, Log);

  // Looks at the folder once: loads what is new, leaves what is gone. What differs from the last look, and may still be
  // written, waits for the next one; not so the first time. What fails changes nothing for the version that answers,
  // and is not tried again before its files change.
  void look();

  // The version that answers. ErrorResponse: 404 for a model or version that is not there, 503 for one that has not
  // been loaded.
  std::shared_ptr<LoadedVersion> find(const std::string& name, const std::string& version = "") const;

  // Loads the newest version, also where it is loaded already. ErrorResponse: 404, 500 with the reason; the old one
  // then stays.
  void load(const std::string& name);
  void unload(const std::string& name);  // until load(). ErrorResponse: 404

  struct VersionState {
    std::string name, version, state, reason;
  };
  std::vector<VersionState> index() const;

 private:
  using Print = std::vector<std::string>;  // of the files of a version: names, sizes, times
  struct Candidate {
    std::uint64_t version = 0;
    std::string file;
    Print print;
  };
  struct Failure {
    Print print;
    std::string why;
  };
  struct Entry {
    std::shared_ptr<LoadedVersion> current;
    std::uint64_t version = 0;  // of the current one
    Print loaded, seen;         // of the current one; of all versions at the last look
    std::map<std::uint64_t, Failure> failures;
    bool wanted = true, missing = false;  // not unloaded by a call; gone at the last look
  };
  using Candidates = std::vector<Candidate>;  // of a model, the newest first
  std::map<std::string, Candidates> found() const;
  void look_at(const std::string& name, const Candidates&, bool first);
  bool take(const std::string& name, const Candidate&);  // under loading_
  void miss(const std::string& name);
  void leave(const std::string& name);
  Entry entry(const std::string& name) const;
  void change(const std::string& name, const std::function<void(Entry&)>&);

  const RepositoryOptions options_;
  Metrics& metrics_;
  const Log log_;
  std::mutex loading_;        // one loading at a time
  mutable std::mutex mutex_;  // of the entries; held for moments
  std::map<std::string, Entry> entries_;
  bool looked_ = false;
};

}  // namespace neura::serve
