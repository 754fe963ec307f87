// The attributes of a call as a value: compared, hashed, printed, read back, written into an operation.
//
//   const Attributes a = Attributes::of(*call.row, call.op);
//   a.str()                                        dim=1, keepdim=true
//   OpMemory op(*row);                             an operation of that kind, with its defaults
//   Attributes::parse(text).write_to(*row, op.get());
//
// The text is for files and for people: names and order are those of NEURA_FIELDS, numbers read back as they were, an
// integer is never a real number (1, 1.0), structs and lists are in square brackets. NaN equals NaN, and -0 is not 0.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace neura {

struct Row;

// One operation's attributes in memory of their own, as Call::op points to them.
class OpMemory {
 public:
  explicit OpMemory(const Row&);         // the defaults
  OpMemory(const Row&, const void* op);  // a copy
  OpMemory(const OpMemory&) = delete;
  ~OpMemory();
  void* get() { return memory_.data(); }

 private:
  const Row& row_;
  std::vector<std::max_align_t> memory_;
};

class Attributes {
 public:
  enum class Kind : std::uint8_t { boolean, integer, real, complex, dtype, device, group };  // group: struct or list
  struct Field {
    std::string name;  // empty in a list
    Kind kind = Kind::integer;
    bool varying = false;    // may differ from step to step of a program
    std::int64_t whole = 0;  // of a group: how many members it has
    double number = 0, imag = 0;
    std::size_t fields = 0;               // of a group: how many of the next fields are in it, at all depths
    bool operator==(const Field&) const;  // `varying` does not count
  };

  Attributes() = default;
  static Attributes of(const Row&, const void* op);  // none where op is null and the row has no defaults
  static Attributes parse(std::string_view);         // ValueError where it is not str() of any

  // Into an operation of that row. ValueError where names, order, kinds or values do not fit; op is then as it was.
  // Varying fields may be left out: they keep what op has.
  void write_to(const Row&, void* op) const;
  // Without the varying fields: what a captured program is keyed by. ValueError after parse(): a text does not say
  // which vary; write it to an operation first.
  Attributes fixed() const;

  const std::vector<Field>& fields() const { return fields_; }  // in order; a group, then what is in it
  bool empty() const { return fields_.empty(); }
  // By a path: "spec.dtype" is the field of that name within the group of that name. Null if there is none.
  const Field* find(std::string_view path) const;
  std::string str() const;
  std::size_t hash() const;
  friend bool operator==(const Attributes& a, const Attributes& b) { return a.fields_ == b.fields_; }

 private:
  std::vector<Field> fields_;
  bool parsed_ = false;
};

}  // namespace neura

template <> struct std::hash<neura::Attributes> {
  std::size_t operator()(const neura::Attributes& a) const { return a.hash(); }
};
