#include "neura/op/attributes.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "neura/core/error.h"
#include "neura/op/attributes_text.h"
#include "neura/op/row.h"

namespace neura {
namespace {

using Field = Attributes::Field;

bool same_bits(double a, double b) { return std::memcmp(&a, &b, sizeof a) == 0; }
double canonical(double x) { return std::isnan(x) ? std::numeric_limits<double>::quiet_NaN() : x; }
bool is_pointwise(const Row& row) { return row.kind == Row::pointwise || row.kind == Row::slope; }

// Fills in fields: groups are opened and closed.
class Collector final : public FieldVisitor {
 public:
  explicit Collector(FieldList& to) : to_(to) {}
  void boolean(FieldName n, bool& v) override { add(n, Attributes::Kind::boolean).whole = v; }
  void integer(FieldName n, std::int64_t& v) override { add(n, Attributes::Kind::integer).whole = v; }
  void real(FieldName n, double& v) override { add(n, Attributes::Kind::real).number = canonical(v); }
  void scalar(FieldName n, Scalar& v) override {
    Field& f = add(n, Attributes::Kind(v.category()));
    if (v.category() <= Category::integer) f.whole = v.integer();
    else f.number = canonical(v.real()), f.imag = canonical(v.imag());
  }
  void dtype(FieldName n, DType& v) override { add(n, Attributes::Kind::dtype).whole = std::int64_t(v); }
  void device(FieldName n, Device& v) override { add(n, Attributes::Kind::device).whole = packed(v); }
  std::size_t begin(FieldName n, std::size_t size, bool) override {
    return to_.open(std::string(n.text), n.varying), size;
  }
  void end() override { to_.close(); }

 private:
  Field& add(FieldName n, Attributes::Kind kind) { return to_.add(std::string(n.text), kind, n.varying); }
  FieldList& to_;
};
static_assert(int(Attributes::Kind::boolean) == int(Category::boolean) &&
              int(Attributes::Kind::integer) == int(Category::integer) &&
              int(Attributes::Kind::real) == int(Category::floating) &&
              int(Attributes::Kind::complex) == int(Category::complex));

const char* words(Attributes::Kind kind) {
  constexpr const char* all[] = {"true or false", "an integer", "a real number", "a complex number",
                                 "a dtype",       "a device",   "a list"};
  return all[int(kind)];
}

// Sets an operation's fields to the values, or tells whether it has them.
class Reader final : public FieldVisitor {
 public:
  Reader(const char* op, const std::vector<Field>& from, bool compare) : op_(op), from_(from), compare_(compare) {}

  void boolean(FieldName n, bool& v) override {
    if (const Field* f = take(n, Attributes::Kind::boolean)) put(*f, v, f->whole != 0, v == (f->whole != 0));
  }
  void integer(FieldName n, std::int64_t& v) override {
    if (const Field* f = take(n, Attributes::Kind::integer)) put(*f, v, f->whole, v == f->whole);
  }
  void real(FieldName n, double& v) override {
    if (const Field* f = take(n, Attributes::Kind::real)) put(*f, v, f->number, same_real(v, f->number));
  }
  void scalar(FieldName n, Scalar& v) override {
    const Field* f = take(n, Attributes::Kind::integer, true);
    if (!f) return;
    const Scalar s = f->kind == Attributes::Kind::boolean   ? Scalar(f->whole != 0)
                     : f->kind == Attributes::Kind::integer ? Scalar(f->whole)
                     : f->kind == Attributes::Kind::real    ? Scalar(f->number)
                                                            : Scalar(std::complex<double>(f->number, f->imag));
    put(*f, v, s, true);
  }
  void dtype(FieldName n, DType& v) override {
    if (const Field* f = take(n, Attributes::Kind::dtype)) put(*f, v, DType(f->whole), v == DType(f->whole));
  }
  void device(FieldName n, Device& v) override {
    if (const Field* f = take(n, Attributes::Kind::device)) put(*f, v, unpacked(f->whole), v == unpacked(f->whole));
  }
  std::size_t begin(FieldName n, std::size_t size, bool fixed) override {
    const Field* f = absent_ ? nullptr : take(n, Attributes::Kind::group);
    if (!f) return ++absent_, size;
    const std::size_t members = std::size_t(f->whole);
    if (fixed && size && size != members) refuse(n, "a list of " + std::to_string(size), f);
    if (compare_ && !fixed && size != members) refuse(n, "another list", f);
    ends_.push_back(at_ + f->fields);
    return members;
  }
  void end() override {
    if (absent_) return void(--absent_);
    expect_end(ends_.back()), ends_.pop_back();
  }
  void finish() const { expect_end(from_.size()); }

 private:
  // The next field, if it is the one that is asked for; null for a varying one that was left out.
  const Field* take(FieldName n, Attributes::Kind kind, bool scalar = false) {
    if (absent_) return nullptr;
    const std::size_t end = ends_.empty() ? from_.size() : ends_.back();
    const Field* f = at_ < end ? &from_[at_] : nullptr;
    const bool named = f && f->name == n.text;
    if (!named && n.varying) return nullptr;
    if (!named || !(scalar ? f->kind <= Attributes::Kind::complex : f->kind == kind))
      refuse(n, scalar ? "a number" : words(kind), f);
    return ++at_, f;
  }
  template <class T> void put(const Field& f, T& field, const T& value, bool same) {
    if (!compare_) field = value;
    else if (!same) refuse({f.name}, "a value that the operation can hold", &f);
  }
  static bool same_real(double has, double given) {  // the field may be a float
    return same_bits(canonical(has), given) || has == double(float(given));
  }
  void expect_end(std::size_t end) const {
    if (at_ < end) refuse({}, "", &from_[at_]);
  }
  [[noreturn, gnu::cold]] void refuse(FieldName n, const std::string& what, const Field* got) const {
    std::string text = std::string(op_) + ": expected ";
    if (what.empty()) text += "no more attributes";
    else if (n.text.empty()) text += what + " as the next attribute";
    else text += what + " as attribute " + std::string(n.text);
    throw ValueError(text + ", got " + (got ? field_text(got) : "none"));
  }

  const char* op_;
  const std::vector<Field>& from_;
  const bool compare_;
  std::size_t at_ = 0;
  int absent_ = 0;  // depth within a group that was left out
  std::vector<std::size_t> ends_;
};

void visit(const Row& row, void* op, FieldVisitor& v) {
  if (is_pointwise(row)) {
    for (int i = 0; i < row.attributes.count; ++i) v.real({row.attributes.name[i]}, static_cast<double*>(op)[i]);
  } else if (row.visit) {
    row.visit(op, v);
  }
}
void read(const Row& row, const std::vector<Field>& from, void* op, bool compare) {
  Reader reader(row.name, from, compare);
  visit(row, op, reader), reader.finish();
}

}  // namespace

OpMemory::OpMemory(const Row& row) : row_(row), memory_(row.op_bytes / sizeof(std::max_align_t) + 1) {
  NEURA_ASSERT(row.make || !row.drop);
  if (is_pointwise(row)) std::copy_n(row.attributes.fallback, row.attributes.count, static_cast<double*>(get()));
  else if (row.make) row.make(get());
}
OpMemory::OpMemory(const Row& row, const void* op) : row_(row), memory_(row.op_bytes / sizeof(std::max_align_t) + 1) {
  if (!is_pointwise(row)) {
    if (row.copy) row.copy(get(), op);
  } else if (row.attributes.count) {
    const double* from = op ? static_cast<const double*>(op) : row.attributes.fallback;
    std::copy_n(from, row.attributes.count, static_cast<double*>(get()));
  }
}
OpMemory::~OpMemory() {
  if (row_.drop) row_.drop(get());
}

bool Attributes::Field::operator==(const Field& o) const {
  return kind == o.kind && whole == o.whole && fields == o.fields && same_bits(number, o.number) &&
         same_bits(imag, o.imag) && name == o.name;
}

Attributes Attributes::of(const Row& row, const void* op) {
  FieldList list;
  Collector collector(list);
  OpMemory copy(row, op);
  visit(row, copy.get(), collector);
  Attributes a;
  a.fields_ = std::move(list.fields);
  return a;
}

void Attributes::write_to(const Row& row, void* op) const {
  OpMemory copy(row, op);
  read(row, fields_, copy.get(), false);
  read(row, fields_, copy.get(), true);  // an int does not hold every integer
  read(row, fields_, op, false);
}

Attributes Attributes::fixed() const {
  check<ValueError>(!parsed_, [] {
    return std::string(
        "attributes: expected those of an operation, got a text's, which do not say what varies; write "
        "them to an operation first");
  });
  FieldList list;
  std::vector<std::size_t> ends;
  for (std::size_t i = 0; i <= fields_.size(); ++i) {
    for (; !ends.empty() && ends.back() == i; ends.pop_back()) list.close();
    if (i == fields_.size()) break;
    const Field& f = fields_[i];
    if (f.varying) {
      i += f.fields;
    } else if (f.kind == Kind::group) {
      list.open(f.name, false), ends.push_back(i + 1 + f.fields);
    } else {
      list.add(f.name, f.kind, false) = f;
    }
  }
  Attributes a;
  a.fields_ = std::move(list.fields);
  return a;
}

std::size_t Attributes::hash() const {
  std::uint64_t h = fields_.size();
  const auto mix = [&](std::uint64_t x) {  // the finaliser of splitmix64
    h = (h ^ x) + 0x9e3779b97f4a7c15;
    h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9, h = (h ^ h >> 27) * 0x94d049bb133111eb, h ^= h >> 31;
  };
  const auto bits = [](double x) {
    std::uint64_t u;
    return std::memcpy(&u, &x, sizeof u), u;
  };
  for (const Field& f : fields_) {
    mix(std::hash<std::string>()(f.name)), mix(std::uint64_t(f.kind)), mix(std::uint64_t(f.whole));
    if (f.kind == Kind::real || f.kind == Kind::complex) mix(bits(f.number)), mix(bits(f.imag));
  }
  return std::size_t(h);
}

std::string Attributes::str() const { return fields_text(fields_); }

const Attributes::Field* Attributes::find(std::string_view path) const {
  std::size_t at = 0, end = fields_.size();
  for (;;) {
    const std::size_t dot = path.find('.');
    const std::string_view name = path.substr(0, dot);
    while (at < end && fields_[at].name != name) at += 1 + fields_[at].fields;
    if (at >= end) return nullptr;
    if (dot == std::string_view::npos) return &fields_[at];
    path.remove_prefix(dot + 1), end = at + 1 + fields_[at].fields, ++at;
  }
}

Attributes Attributes::parse(std::string_view text) {
  Attributes a;
  a.fields_ = parse_fields(text), a.parsed_ = true;
  return a;
}

}  // namespace neura
