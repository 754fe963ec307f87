// neura deploy --c: a model as C sources, which call the C interface (neura/capi/neura.h).
#include <algorithm>
#include <cstring>
#include <filesystem>

#include "cli/deploy.h"
#include "neura/core/dlpack.h"
#include "neura/core/file.h"
#include "neura/core/version.h"

namespace neura::cli {
namespace {

constexpr std::size_t kMost = std::size_t{64} << 20;  // bytes of a model: a compiler takes 25 times as many

struct CPort {
  std::string name;   // as the model has it
  std::string local;  // of the parameter: in_x
  std::string macro;  // of its elements: NET_IN_X_COUNT
  Spec spec;
};

std::string identifier(const std::string& text) {
  std::string name;
  for (const char c : text) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}
// Names that would hide another file, example.c or a header of C, or that capi/neura.h has itself (neura_open).
bool is_taken(const std::string& name) {
  const char* const taken[] = {"example", "neura", "stdint", "stdio", "stdlib", "string"};
  return std::any_of(std::begin(taken), std::end(taken), [&](const char* t) { return name == t; });
}
std::string upper(std::string text) {
  for (char& c : text) c = char(std::toupper(static_cast<unsigned char>(c)));
  return text;
}
// In a comment.
std::string shown(std::string text) {
  for (std::size_t at; (at = text.find("*/")) != std::string::npos;) text.replace(at, 2, "* ");
  return text;
}
// Text with @0, @1, ... replaced.
std::string filled(std::string_view text, std::initializer_list<std::string> values) {
  std::string to;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] == '@') to += values.begin()[text[++i] - '0'];
    else to += text[i];
  return to;
}
std::vector<CPort> ports(const std::string& name, const char* way, const std::vector<std::string>& names,
                         const std::vector<Spec>& specs) {
  std::vector<CPort> all;
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::string local = way + identifier(names[i]);
    while (std::any_of(all.begin(), all.end(), [&](const CPort& p) { return upper(p.local) == upper(local); }))
      local += "_" + std::to_string(i);
    all.push_back({names[i], local, upper(filled("@0_@1_COUNT", {name, local})), specs[i]});
  }
  return all;
}

// What an element is in C; complex numbers are two of it.
const char* c_type(DType d) {
  switch (d) {
    case DType::float32:
    case DType::complex64:
      return "float";
    case DType::float64:
    case DType::complex128:
      return "double";
    case DType::int8:
      return "int8_t";
    case DType::int16:
      return "int16_t";
    case DType::int32:
      return "int32_t";
    case DType::int64:
      return "int64_t";
    case DType::float16:
    case DType::bfloat16:
      return "uint16_t";
    default:
      return "uint8_t";
  }
}
std::string remark(DType d) {
  if (is_complex(d)) return ", pairs";
  if (bit(d) & dtypes::halves || category(d) == Category::storage) return ", its bits";
  return d == DType::boolean ? ", 0 or 1" : "";
}
std::int64_t elements(const Spec& s) { return s.numel * (is_complex(s.dtype) ? 2 : 1); }

struct Sources {
  const DeployedModel& model;
  std::string name, type;
  std::vector<CPort> in, out;

  Sources(const DeployedModel& d, const std::string& folder) : model(d) {
    std::filesystem::path path(folder);
    if (!path.has_filename()) path = path.parent_path();
    name = identifier(path.filename().string());
    if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) || is_taken(name)) name = "model_" + name;
    type = name + "_model";
    in = ports(name, "in_", d.file.inputs, d.file.program.input_specs());
    out = ports(name, "out_", d.file.outputs, d.file.program.output_specs());
  }

  std::string made() const {
    return "/* The model of " + shown(std::filesystem::path(model.source).filename().string()) +
           ", made by neura deploy, Neura " + kVersion + ". */\n";
  }
  std::string run_head() const {
    std::string text = "int " + name + "_run(" + type + "* model";
    for (const CPort& p : in) text += ", const " + std::string(c_type(p.spec.dtype)) + "* " + p.local;
    for (const CPort& p : out) text += ", " + std::string(c_type(p.spec.dtype)) + "* " + p.local;
    return text + ")";
  }
  std::string header() const;
  std::string words() const;
  std::string source() const;
  std::string example() const;
  std::string cmake() const;
  std::string makefile() const;
};

std::string Sources::header() const {
  const std::string guard = upper(name) + "_H";
  std::string text = made() + "#ifndef " + guard + "\n#define " + guard + "\n\n#include <stdint.h>\n\n";
  text += "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n/* Elements, rows one after the other. */\n";
  for (const auto* all : {&in, &out})
    for (const CPort& p : *all)
      text += "#define " + p.macro + " " + std::to_string(elements(p.spec)) + " /* " + shown(p.name) + ": " +
              p.spec.str() + remark(p.spec.dtype) + " */\n";
  text += "\ntypedef struct " + type + " " + type + ";\n\n";
  text += "/* These give 0, or a code of neura/capi/neura.h; neura_message() then says why. */\n";
  text += "int " + name + "_open(" + type + "** model);\n";
  text += "/* Any number of threads may call it with one model. */\n" + run_head() + ";\n";
  text += "/* Null does nothing. */\nvoid " + name + "_close(" + type + "* model);\n\n";
  return text + "#ifdef __cplusplus\n}\n#endif\n#endif\n";
}

// 8 bytes each: of all forms of numbers, a compiler reads this one fastest.
std::string Sources::words() const {
  std::string text;
  const std::string& bytes = model.bytes;
  for (std::size_t i = 0; i < bytes.size(); i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i, std::min<std::size_t>(8, bytes.size() - i));
    char digits[24];
    std::snprintf(digits, sizeof digits, "%#llx,", static_cast<unsigned long long>(word));
    text += i % 32 ? " " : "\n  ";
    text += digits;
  }
  text.pop_back();
  return text;
}

std::string Sources::source() const {
  const std::string size = std::to_string(model.bytes.size());
  std::string text = made() + "#include \"" + name + ".h\"\n\n#include <stdlib.h>\n#include <string.h>\n\n";
  text += "#include \"neura/capi/neura.h\"\n\n/* The file .neura, for little-endian machines. */\n";
  text += "static const uint64_t bytes[" + std::to_string((model.bytes.size() + 7) / 8) + "] = {" + words() + "};\n\n";
  text += "struct " + type + " {\n  neura_session* session;\n};\n\n";
  text += "int " + name + "_open(" + type + "** model) {\n  neura_model* opened;\n  neura_options options;\n";
  text += "  neura_session* session;\n  int code;\n  *model = NULL;\n  memset(&options, 0, sizeof options);\n";
  text += "  options.borrow = 1;\n";
  if (model.trusted) text += "  options.trusted = 1; /* as neura deploy was told, or traced it itself */\n";
  text += "  code = neura_open_bytes(NEURA_ABI, bytes, " + size + ", &options, &opened);\n  if (code) return code;\n";
  text += "  code = neura_session_open(opened, &session);\n  neura_close(opened); /* the session keeps it */\n";
  text += "  if (code) return code;\n  *model = malloc(sizeof **model);\n  if (!*model) {\n";
  text += "    neura_session_close(session);\n    return NEURA_E_MEMORY;\n  }\n  (*model)->session = session;\n";
  text += "  return NEURA_DONE;\n}\n\n";
  text += "void " + name + "_close(" + type + "* model) {\n  if (!model) return;\n";
  text += "  neura_session_close(model->session);\n  free(model);\n}\n\n";
  const std::string ins = std::to_string(in.size()), outs = std::to_string(out.size());
  const std::string places_in = std::to_string(std::max<std::size_t>(in.size(), 1));  // C has no empty arrays
  const std::string places_out = std::to_string(std::max<std::size_t>(out.size(), 1));
  text += run_head() + " {\n  DLTensor tensors[" + places_in + "];\n  const DLTensor* inputs[" + places_in + "];\n";
  text += "  DLManagedTensorVersioned* outputs[" + places_out + "];\n  int code;\n";
  for (std::size_t i = 0; i < in.size(); ++i) {
    std::string sizes;
    for (const std::int64_t n : in[i].spec.sizes()) sizes += (sizes.empty() ? "" : ", ") + std::to_string(n);
    text += "  int64_t sizes_" + std::to_string(i) + "[] = {" + (sizes.empty() ? "0" : sizes) + "};\n";
  }
  text += "  memset(tensors, 0, sizeof tensors);\n";
  if (in.empty()) text += "  inputs[0] = tensors;\n";
  for (std::size_t i = 0; i < in.size(); ++i) {
    const DlpackCode& c = dlpack_code(in[i].spec.dtype);
    text += filled(
        "  tensors[@0].data = (void*)@1;\n  tensors[@0].device.device_type = kDLCPU;\n  tensors[@0].ndim = @2;\n"
        "  tensors[@0].shape = sizes_@0;\n  tensors[@0].dtype.code = @3;\n  tensors[@0].dtype.bits = @4;\n"
        "  tensors[@0].dtype.lanes = 1;\n  inputs[@0] = &tensors[@0];\n",
        {std::to_string(i), in[i].local, std::to_string(in[i].spec.rank), std::to_string(c.code),
         std::to_string(c.bits)});
  }
  text += "  code = neura_run(model ? model->session : NULL, inputs, " + ins + ", outputs, " + outs + ");\n";
  text += "  if (code) return code;\n";
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::string n = std::to_string(i);
    text += filled(elements(out[i].spec) ? "  memcpy(@0, outputs[@1]->dl_tensor.data, @2 * sizeof *@0);\n"
                                         : "  (void)@0; /* has no elements */\n",
                   {out[i].local, n, out[i].macro});
    text += filled("  neura_release(outputs[@0]);\n", {n});
  }
  return text + "  return NEURA_DONE;\n}\n";
}

std::string Sources::example() const {
  std::string text = made() + "#include <stdio.h>\n\n#include \"" + name + ".h\"\n#include \"neura/capi/neura.h\"\n\n";
  std::string call = name + "_run(model";
  for (const auto* all : {&in, &out})
    for (const CPort& p : *all) {
      text += "static " + std::string(c_type(p.spec.dtype)) + " " + p.local + "[" + (elements(p.spec) ? p.macro : "1") +
              "]; /* 0 at first */\n";
      call += ", " + p.local;
    }
  text += "\nint main(void) {\n  " + type + "* model;\n  int i;\n  if (" + name + "_open(&model) || " + call + ")) {\n";
  text += "    fprintf(stderr, \"%s\\n\", neura_message());\n    return 1;\n  }\n";
  for (const CPort& p : out) {
    text += "  printf(\"%s\", \"" + identifier(p.name) + "\");\n  for (i = 0; i < " + p.macro +
            " && i < 10; ++i) printf(\" %g\", (double)" + p.local + "[i]);\n  printf(\"%s\\n\", " + p.macro +
            " > 10 ? \" ...\" : \"\");\n";
  }
  return text + "  (void)i;\n  " + name + "_close(model);\n  return 0;\n}\n";
}

std::string Sources::cmake() const {
  return "# cmake -B build -DCMAKE_PREFIX_PATH=(where Neura is installed) && cmake --build build && build/example\n"
         "cmake_minimum_required(VERSION 3.22)\n"
         "project(" +
         type +
         " LANGUAGES C CXX)  # Neura is linked as C++ is\n"
         "find_package(neura REQUIRED)\n"
         "add_library(" +
         type + " STATIC " + name +
         ".c)\n"
         "target_include_directories(" +
         type +
         " PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})\n"
         "option(STATIC \"Neura's archives, where they are installed, rather than its shared libraries\" OFF)\n"
         "if(STATIC)\n"
         "  target_link_libraries(" +
         type +
         " PUBLIC neura::c_static)\n"
         "else()\n"
         "  target_link_libraries(" +
         type +
         " PUBLIC neura::c)\n"
         "endif()\n"
         "add_executable(example example.c)\n"
         "target_link_libraries(example PRIVATE " +
         type + ")\n";
}
std::string Sources::makefile() const {
  return "# make && ./example; PKG_CONFIG_PATH says where neura_c.pc is\n"
         "CFLAGS += -O2 $(shell pkg-config --cflags neura_c)\n"
         "LDLIBS += $(shell pkg-config --libs neura_c)\n"
         "example: example.o " +
         name +
         ".o\n"
         "example.o " +
         name + ".o: " + name + ".h\n";
}

}  // namespace

std::string write_c(const DeployedModel& d, const std::string& folder) {
  check<ValueError>(d.bytes.size() <= kMost, [&] {
    return "deploy: expected a model of at most 64 MiB for --c, which a compiler reads, got " +
           std::to_string(d.bytes.size()) + " bytes; open the file with neura_open, or make a program of it";
  });
  const Sources s(d, folder);
  std::filesystem::create_directories(folder);
  const auto write = [&](const std::string& name, const std::string& text) {
    io::write_file(folder + "/" + name, text);
  };
  write(s.name + ".h", s.header()), write(s.name + ".c", s.source()), write("example.c", s.example());
  write("CMakeLists.txt", s.cmake()), write("Makefile", s.makefile());
  return folder + ": " + s.name + ".c, " + s.name + ".h, example.c, CMakeLists.txt, Makefile";
}

}  // namespace neura::cli
