#include "neura/cuda/compile.h"

#include <charconv>
#include <future>
#include <map>
#include <mutex>

#include "neura/core/error.h"
#include "neura/core/interpreter.h"
#include "neura/cuda/kernel_file.h"
#include "neura/cuda/nvrtc.h"

namespace neura::cuda {
namespace {

// After the source: what makes the compiler say which parameters a kernel has. The numbers are those of ParameterKind.
constexpr const char* kEpilogue = R"(
namespace neura_parameters {
template <class T> struct kind { static constexpr int value = 0; };
template <class T> struct kind<const T> : kind<T> {};
template <class T> struct kind<volatile T> : kind<T> {};
template <class T> struct kind<const volatile T> : kind<T> {};
template <> struct kind<bool> { static constexpr int value = 1; };
template <> struct kind<float> { static constexpr int value = 100; };
template <> struct kind<double> { static constexpr int value = 104; };
template <class T> struct kind<T*> { static constexpr int value = 1000 + kind<T>::value; };
#define NEURA_PARAMETERS(T) \
  template <> struct kind<T> { static constexpr int value = ((T)-1 < (T)0 ? 32 : 64) + (int)sizeof(T); };
NEURA_PARAMETERS(char) NEURA_PARAMETERS(signed char) NEURA_PARAMETERS(unsigned char)
NEURA_PARAMETERS(short) NEURA_PARAMETERS(unsigned short) NEURA_PARAMETERS(int) NEURA_PARAMETERS(unsigned)
NEURA_PARAMETERS(long) NEURA_PARAMETERS(unsigned long) NEURA_PARAMETERS(long long)
NEURA_PARAMETERS(unsigned long long)
#undef NEURA_PARAMETERS
template <int...> struct list {};
template <class> struct of;
template <class... A> struct of<void (*)(A...)> { using type = list<kind<A>::value...>; };
template <class> __global__ void shown() {}
}
)";

using Compiled = std::shared_ptr<const CompiledKernel>;
struct Cache {
  std::mutex mutex;
  std::map<std::string, std::shared_future<Compiled>> kernels;
  CompileCounts counts{};
};
Cache& cache() {
  static Cache* c = new Cache;
  return *c;
}
const Nvrtc& nvrtc() {
  static const Nvrtc* n = new Nvrtc;
  return *n;
}

class Program {
 public:
  Program(const std::string& source, const std::string& name, std::span<const KernelHeader> headers) : name_(name) {
    std::vector<const char*> texts, names;
    for (const KernelHeader& h : headers) texts.push_back(h.text), names.push_back(h.name);
    demand(nvrtc().nvrtcCreateProgram(&program_, (source + kEpilogue).c_str(), (name + ".cu").c_str(),
                                      int(headers.size()), texts.data(), names.data()));
  }
  Program(const Program&) = delete;
  ~Program() { nvrtc().nvrtcDestroyProgram(&program_); }

  std::shared_ptr<const CompiledKernel> compile(const std::vector<std::string>& options) {
    const std::string shown = "neura_parameters::shown<neura_parameters::of<decltype(&" + name_ + ")>::type>";
    for (const std::string& e : {name_, shown}) demand(nvrtc().nvrtcAddNameExpression(program_, e.c_str()));
    std::vector<const char*> given;
    for (const std::string& o : options) given.push_back(o.c_str());
    const int status = nvrtc().nvrtcCompileProgram(program_, int(given.size()), given.data());
    check<CudaError>(!status, [&] {
      const std::string words = log();
      if (words.find(name_ + ".cu(") == words.npos && words.find("__nv_name_map(") != words.npos)
        return name_ +
               ": expected the name of one kernel of the source, such as scale or add<float>, got one that it "
               "does not have, or has twice; check the name";
      return name_ + ": expected source that NVRTC compiles, got (" + nvrtc().nvrtcGetErrorString(status) + ")\n" +
             words;
    });
    auto made = std::make_shared<CompiledKernel>();
    made->name = lowered(name_);
    made->parameters = parameters(lowered(shown));
    std::size_t bytes = 0;
    demand(nvrtc().nvrtcGetCUBINSize(program_, &bytes));
    made->code.resize(bytes);
    demand(nvrtc().nvrtcGetCUBIN(program_, made->code.data()));
    return made;
  }

 private:
  void demand(int status) const {
    check<CudaError>(!status, [&] {
      return name_ + ": expected NVRTC to continue, got \"" + nvrtc().nvrtcGetErrorString(status) +
             "\"; check the name and the options";
    });
  }
  std::string log() const {
    std::size_t bytes = 0;
    if (nvrtc().nvrtcGetProgramLogSize(program_, &bytes) || !bytes) return "";
    std::string text(bytes, '\0');
    nvrtc().nvrtcGetProgramLog(program_, text.data());
    return text.substr(0, text.find('\0'));
  }
  std::string lowered(const std::string& expression) const {
    const char* text = nullptr;
    demand(nvrtc().nvrtcGetLoweredName(program_, expression.c_str(), &text));
    return text;
  }
  static std::vector<int> parameters(const std::string& mangled) {  // ...4listIJLi1100ELi36EEE...
    std::vector<int> all;
    for (std::size_t at = mangled.find("4listI"); (at = mangled.find("Li", at)) != mangled.npos; at += 2) {
      int kind = 0;
      std::from_chars(mangled.data() + at + 2, mangled.data() + mangled.size(), kind);
      all.push_back(kind);
    }
    return all;
  }

  std::string name_;
  NvrtcProgram program_ = nullptr;
};

// What is compiled, in one text: two kernels with the same one are the same.
std::string key_of(const std::string& source, const std::string& name, const std::vector<std::string>& options,
                   std::span<const KernelHeader> headers) {
  std::string key = nvrtc_version();
  for (const KernelHeader& h : headers) key += hash_of(h.text);
  for (const std::string* part : {&name, &source}) key += '\0' + *part;
  for (const std::string& o : options) key += '\0' + o;
  return key;
}
bool begins_with(const std::vector<std::string>& options, std::initializer_list<const char*> beginnings) {
  for (const std::string& o : options)
    for (const char* b : beginnings)
      if (o.starts_with(b)) return true;
  return false;
}
// True if it includes files that may change without the source.
bool includes_files(const std::string& source, const std::vector<std::string>& options) {
  if (begins_with(options, {"-I", "--include", "-include", "--pre-include"})) return true;
  for (std::size_t at = 0; (at = source.find("include", at)) != source.npos; ++at)
    if (const std::size_t next = source.find_first_not_of(" \t", at + 7); next != source.npos && source[next] != '<')
      return true;
  return false;
}

}  // namespace

std::string nvrtc_version() {
  int major = 0, minor = 0;
  if (!nvrtc().why.empty() || nvrtc().nvrtcVersion(&major, &minor)) return "";
  return std::to_string(major) + "." + std::to_string(minor);
}
CompileCounts compile_counts() {
  const std::lock_guard lock(cache().mutex);
  return cache().counts;
}

std::shared_ptr<const CompiledKernel> compile_kernel(const std::string& source, const std::string& name,
                                                     const std::vector<std::string>& options,
                                                     const std::string& architecture,
                                                     std::span<const KernelHeader> headers) {
  check<CudaError>(nvrtc().why.empty(), [&] {
    return name + ": expected NVRTC, which compiles kernels, got none (" + nvrtc().why +
           "); install cuda-nvrtc-13-0 or nvidia-cuda-nvrtc, or let NEURA_NVRTC_LIBRARY name libnvrtc.so.13";
  });
  std::vector<std::string> all = options;
  if (!begins_with(options, {"-arch", "--gpu-architecture"})) all.push_back("--gpu-architecture=" + architecture);
  const std::string key = key_of(source, name, all, headers);
  const GilRelease unlocked(true);
  Cache& c = cache();
  std::promise<Compiled> mine;
  {
    std::unique_lock lock(c.mutex);
    std::shared_future<Compiled>& known = c.kernels[key];
    if (known.valid()) {
      const std::shared_future<Compiled> kernel = known;
      ++c.counts.remembered;
      lock.unlock();
      return kernel.get();
    }
    known = mine.get_future().share();
  }
  try {
    const KernelFile file(headers.empty() && includes_files(source, options) ? "" : key);
    Compiled kernel = file.read();
    const bool read = kernel != nullptr;
    if (!read) {
      if (!nvrtc().folder.empty()) all.push_back("-I" + nvrtc().folder);
      kernel = Program(source, name, headers).compile(all);
      file.write(*kernel);
    }
    mine.set_value(kernel);
    const std::lock_guard lock(c.mutex);
    ++(read ? c.counts.read : c.counts.compiled);
    return kernel;
  } catch (...) {
    mine.set_exception(std::current_exception());
    const std::lock_guard lock(c.mutex);
    c.kernels.erase(key);
    throw;
  }
}

}  // namespace neura::cuda
