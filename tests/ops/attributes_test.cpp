// Attributes of every operation: printed, read back, compared, written into another one; and what is refused.
#include "neura/op/attributes.h"

#include <random>
#include <unordered_set>

#include "neura/op/apply.h"
#include "neura/op/pointwise/rows.h"
#include "neura/op/registry.h"
#include "neura/ops/create/create.h"
#include "neura/ops/reduce/scan.h"
#include "neura/ops/training/optimizer_step.h"
#include "tests/support/close.h"

namespace neura::test {
namespace {

void visit(const Row& row, void* op, FieldVisitor& v) {
  if (row.visit) return row.visit(op, v);
  for (int i = 0; i < row.attributes.count; ++i) v.real({row.attributes.name[i]}, static_cast<double*>(op)[i]);
}

// Gives every field a drawn value; lists get two members.
class Filling final : public FieldVisitor {
 public:
  explicit Filling(unsigned seed) : random_(seed) {}
  void boolean(FieldName, bool& v) override { v = below(2); }
  void integer(FieldName, std::int64_t& v) override { v = below(4); }
  void real(FieldName, double& v) override { v = double(below(1000)) / 7; }
  void scalar(FieldName, Scalar& v) override {
    const Scalar all[] = {below(2) == 1, below(9), double(below(9)) / 7, std::complex<double>(below(9), -0.1)};
    v = all[below(4)];
  }
  void dtype(FieldName, DType& v) override { v = DType(below(kDTypes)); }
  void device(FieldName, Device& v) override { v = below(2) ? Device(DeviceType::cuda, int(below(4))) : Device(); }
  std::size_t begin(FieldName, std::size_t size, bool fixed) override { return fixed ? size : 2; }
  void end() override {}

 private:
  std::int64_t below(std::int64_t n) { return std::int64_t(random_()) % n; }
  std::mt19937 random_;
};

// Gives field `which` of all another value, and says whether it is one that varies.
class Changing final : public FieldVisitor {
 public:
  explicit Changing(int which) : left_(which) {}
  bool changed = false, varying = false;
  void boolean(FieldName n, bool& v) override { v = v != turn(n); }
  void integer(FieldName n, std::int64_t& v) override { v += turn(n); }
  void real(FieldName n, double& v) override { v += turn(n); }
  void scalar(FieldName n, Scalar& v) override {
    if (turn(n)) v = Scalar(v.real() + 1);
  }
  void dtype(FieldName n, DType& v) override { v = DType((int(v) + turn(n)) % kDTypes); }
  void device(FieldName n, Device& v) override {
    if (turn(n)) v = v.is_cpu() ? Device(DeviceType::cuda, 1) : Device();
  }
  std::size_t begin(FieldName n, std::size_t size, bool) override { return within_.push_back(n.varying), size; }
  void end() override { within_.pop_back(); }

 private:
  bool turn(FieldName n) {
    if (left_-- != 0) return false;
    varying = n.varying;
    for (const bool w : within_) varying = varying || w;
    return changed = true;
  }
  int left_;
  std::vector<bool> within_;
};

class EveryOperation : public testing::TestWithParam<std::size_t> {
 protected:
  const Row& row = *all_operations()[GetParam()];
};
INSTANTIATE_TEST_SUITE_P(Attributes, EveryOperation, testing::Range<std::size_t>(0, all_operations().size()));

TEST_P(EveryOperation, ReadsBackAsItWas) {
  for (unsigned seed = 0; seed < 4; ++seed) {
    OpMemory op(row), other(row);
    if (Filling filling(seed); seed) visit(row, op.get(), filling);
    const Attributes a = Attributes::of(row, op.get()), read = Attributes::parse(a.str());
    EXPECT_EQ(read, a) << row.name << ": " << a.str();
    EXPECT_EQ(read.hash(), a.hash());
    EXPECT_EQ(read.str(), a.str());
    read.write_to(row, other.get());
    EXPECT_EQ(Attributes::of(row, other.get()), a) << row.name << ": " << a.str();
  }
}
TEST_P(EveryOperation, IsAnotherOneWithAnotherValueOfAnyField) {
  OpMemory op(row);
  Filling filling(5);
  visit(row, op.get(), filling);
  const Attributes a = Attributes::of(row, op.get());
  for (int k = 0;; ++k) {
    OpMemory other(row, op.get());
    Changing changing(k);
    visit(row, other.get(), changing);
    if (!changing.changed) break;
    const Attributes b = Attributes::of(row, other.get());
    EXPECT_FALSE(b == a) << row.name << ": field " << k << " of " << a.str();
    EXPECT_NE(b.hash(), a.hash());
    EXPECT_EQ(b.fixed() == a.fixed(), changing.varying) << row.name << ": field " << k << " of " << a.str();
    a.fixed().write_to(row, other.get());  // what varies stays
    EXPECT_EQ(Attributes::of(row, other.get()) == b, changing.varying);
  }
  EXPECT_EQ(Attributes::of(row, op.get()), a);
}
TEST_P(EveryOperation, RefusesWhatIsNoneOfItsAttributes) {
  OpMemory op(row);
  const Attributes a = Attributes::of(row, op.get());
  std::string text = a.str();
  text += text.empty() ? "no_attribute=1" : ", no_attribute=1";
  EXPECT_EQ(error_of<ValueError>([&] { Attributes::parse(text).write_to(row, op.get()); }),
            std::string(row.name) + ": expected no more attributes, got no_attribute=1");
  EXPECT_EQ(Attributes::of(row, op.get()), a);
}

struct Inner {
  int first = 1;
  bool second = true;
  NEURA_FIELDS(first, second)
};
struct Probe {
  static constexpr Operation op = operation("probe");
  Inner inner;
  std::vector<double> weights = {0.1, 2};
  Shape size = {2, 3};
  std::optional<std::int64_t> k;
  Scalar alpha = 1;
  DType dtype = float32;
  Device device;
  double step = 0.5;
  NEURA_FIELDS(inner, weights, size, k, alpha, dtype, device, varying(step))
  void infer(const Spec& x, Spec& y) const { y = x; }
  void run(Context&, View, View) const {}
};
Attributes of(const Probe& p) { return Attributes::of(row_of<Probe>, &p); }
const std::string kProbe =
    "inner=[first=1, second=true], weights=[0.1, 2.0], size=[2, 3], k=[], alpha=1, dtype=float32, device=cpu, step=0.5";
std::string with(const std::string& part, const std::string& instead) {
  std::string text = kProbe;
  return text.replace(text.find(part), part.size(), instead);
}
std::string of_number(const Scalar& s) {
  Probe p;
  p.alpha = s;
  const std::string text = of(p).str();
  EXPECT_EQ(Attributes::parse(text), of(p)) << text;
  const std::size_t first = text.find("alpha=") + 6;
  return text.substr(first, text.find(", dtype") - first);
}

TEST(Attributes, AreWrittenAsPythonPrintsThem) {
  EXPECT_EQ(of({}).str(), kProbe);
  Probe p;
  p.k = -7, p.dtype = boolean, p.device = "cuda:1", p.weights.clear();
  EXPECT_EQ(
      of(p).str(),
      "inner=[first=1, second=true], weights=[], size=[2, 3], k=[-7], alpha=1, dtype=bool, device=cuda:1, step=0.5");
  EXPECT_EQ(Attributes().str(), "");
  EXPECT_TRUE(Attributes::parse("").empty());
  EXPECT_EQ(Attributes::of(rows::add, nullptr).str(), "");
}
TEST(Attributes, OfAnOptimizersStepAreTheNumbersOfItsTable) {
  const OptimizerStep<SgdStep> step{{{0.5, 0.25, 0.75, 0.0, -1.0, true, false}}};
  EXPECT_EQ(Attributes::of(row_of<OptimizerStep<SgdStep>>, &step).str(),
            "steps=[[lr=0.5, weight_decay=0.25, momentum=0.75, dampening=0.0, sign=-1.0, nesterov=true, first=false]]");
}
TEST(Attributes, ReadNumbersBackToTheLastBit) {
  const double inf = INFINITY;
  EXPECT_EQ(of_number(true), "true");
  EXPECT_EQ(of_number(INT64_MIN), "-9223372036854775808");
  EXPECT_EQ(of_number(1.0), "1.0");
  EXPECT_EQ(of_number(-0.0), "-0.0");
  EXPECT_EQ(of_number(1e-5), "1e-05");
  EXPECT_EQ(of_number(0.1 + 0.2), "0.30000000000000004");
  EXPECT_EQ(of_number(1e16), "1e+16");
  EXPECT_EQ(of_number(5e-324), "5e-324");
  EXPECT_EQ(of_number(1.7976931348623157e308), "1.7976931348623157e+308");
  EXPECT_EQ(of_number(inf), "inf");
  EXPECT_EQ(of_number(-inf), "-inf");
  EXPECT_EQ(of_number(std::nan("")), "nan");
  EXPECT_EQ(of_number(-std::nan("7")), "nan");
  EXPECT_EQ(of_number(std::complex<double>(1, -2.5)), "(1-2.5j)");
  EXPECT_EQ(of_number(std::complex<double>(-1e-7, 1e20)), "(-1e-07+1e+20j)");
  EXPECT_EQ(of_number(std::complex<double>(-0.0, -0.0)), "(-0-0j)");
  EXPECT_EQ(of_number(std::complex<double>(std::nan(""), -inf)), "(nan-infj)");
}
TEST(Attributes, AreKeys) {
  std::unordered_set<Attributes> seen;
  for (const Scalar& s : {Scalar(true), Scalar(1), Scalar(1.0), Scalar(std::complex<double>(1, 0)), Scalar(0.0),
                          Scalar(-0.0), Scalar(std::nan("")), Scalar(std::nan("1"))}) {
    Probe p;
    p.alpha = s;
    seen.insert(of(p));
  }
  EXPECT_EQ(seen.size(), 7u);  // NaN is NaN
}
TEST(Attributes, AreKeyedWithoutWhatVaries) {
  Probe p;
  p.step = 7;
  EXPECT_FALSE(of(p) == of({}));
  EXPECT_EQ(of(p).fixed(), of({}).fixed());
  EXPECT_EQ(of(p).fixed().hash(), of({}).fixed().hash());
  EXPECT_EQ(of(p).fixed().str(), kProbe.substr(0, kProbe.find(", step")));
  EXPECT_EQ(of(p).fixed().fixed(), of(p).fixed());
  EXPECT_TRUE(of(p).fields().back().varying);
  Attributes::parse(with(", step=0.5", "")).write_to(row_of<Probe>, &p);
  EXPECT_EQ(p.step, 7);
  EXPECT_EQ(error_of<ValueError>([] { (void)Attributes::parse(kProbe).fixed(); }),
            "attributes: expected those of an operation, got a text's, which do not say what varies; write them to an "
            "operation first");
}
TEST(Attributes, OfRowsAreTheirOptions) {
  EXPECT_EQ(Attributes::of(rows::leaky_relu, nullptr).str(), "negative_slope=0.01");
  double slope = 0.25;
  Attributes::parse("negative_slope=1e-300").write_to(rows::leaky_relu, &slope);
  EXPECT_EQ(slope, 1e-300);
  EXPECT_EQ(error_of<ValueError>([&] { Attributes::parse("negative_slope=1").write_to(rows::leaky_relu, &slope); }),
            "leaky_relu: expected a real number as attribute negative_slope, got negative_slope=1");
}
TEST(Attributes, OfACallAreSeenByAnInterceptor) {
  struct Texts : Interceptor {
    std::string seen;
    void call(Call& c) override { seen += Attributes::of(*c.row, c.op).str(), apply(c); }
  } texts;
  cumsum(Tensor::empty(Spec::dense(float32, Shape{2, 3})).zero_(), 1);
  EXPECT_NE(texts.seen.find("dim=1, reverse=false"), texts.seen.npos) << texts.seen;
}

TEST(Attributes, ThatDoNotFitAreRefusedAndNothingIsWritten) {
  const std::pair<std::string, std::string> all[] = {
      {"", "a list as attribute inner, got none"},
      {with("inner=", "outer="), "a list as attribute inner, got outer=[first=1, second=true]"},
      {with("first=1, second=true", "second=true, first=1"), "an integer as attribute first, got second=true"},
      {with("first=1", "first=1.0"), "an integer as attribute first, got first=1.0"},
      {with("first=1", "first=5000000000"),
       "a value that the operation can hold as attribute first, got first=5000000000"},
      {with("second=true", "second=1"), "true or false as attribute second, got second=1"},
      {with(", second=true", ""), "true or false as attribute second, got none"},
      {with("second=true", "second=true, third=1"), "no more attributes, got third=1"},
      {with("0.1", "1"), "a real number as the next attribute, got 1"},
      {with("0.1", "[0.1]"), "a real number as the next attribute, got [0.1]"},
      {with("k=[]", "k=[1, 2]"), "no more attributes, got 2"},
      {with("alpha=1", "alpha=float32"), "a number as attribute alpha, got alpha=float32"},
      {with("dtype=float32", "dtype=1"), "a dtype as attribute dtype, got dtype=1"},
      {with("device=cpu", "device=bool"), "a device as attribute device, got device=bool"},
      {with("step=0.5", "step=[]"), "a real number as attribute step, got step=[]"},
      {kProbe + ", more=[a=1, [2, 3]]", "no more attributes, got more=[a=1, [2, 3]]"}};
  for (const auto& [text, said] : all) {
    Probe p;
    EXPECT_EQ(error_of<ValueError>([&, text = text] { Attributes::parse(text).write_to(row_of<Probe>, &p); }),
              "probe: expected " + said)
        << text;
    EXPECT_EQ(of(p), of({}));
  }
  Probe p;
  const Attributes long_shape = Attributes::parse(with("size=[2, 3]", "size=[1, 1, 1, 1, 1, 1, 1, 1, 1]"));
  EXPECT_THROW(long_shape.write_to(row_of<Probe>, &p), ShapeError);
  EXPECT_EQ(of(p), of({}));
}
TEST(Attributes, RefuseATextThatIsNone) {
  const std::string value = "a number, a dtype, a device or a list", complex = "a complex number as (1+2j)";
  const std::string at = " of the text";
  const std::pair<std::string, std::string> all[] = {
      {"a", value + ", got \"a\" at 0"},
      {"a=", value + ", got its end at 2"},
      {"a=1,", value + ", got its end at 4"},
      {"a=1 b=2", "a comma, got \"b=2\" at 4"},
      {"1]", "a comma, got \"]\" at 1"},
      {"a=[1", "a ], got its end at 4"},
      {"[", value + ", got its end at 1"},
      {"a=b=1", value + ", got \"b=1\" at 2"},
      {"9223372036854775808", value + ", got \"9223372036854775808\" at 0"},
      {"a=1e999", value + ", got \"1e999\" at 2"},
      {"(1)", complex + ", got \")\" at 2"},
      {"(1+2j", complex + ", got its end at 5"},
      {"(+2j)", complex + ", got \")\" at 4"},
      {std::string(33, '['), "lists at most 32 deep, got its end at 33"}};
  for (const auto& [text, said] : all)
    EXPECT_EQ(error_of<ValueError>([&, text = text] { Attributes::parse(text); }), "attributes: expected " + said + at)
        << text;
  EXPECT_EQ(Attributes::parse(" a = [ 1 ,2, [ ] ] , b=( 1+2j ) ").str(), "a=[1, 2, []], b=(1+2j)");
}

}  // namespace
}  // namespace neura::test
