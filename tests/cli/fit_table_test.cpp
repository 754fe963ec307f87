// neura train table, eval and predict, on rows that follow a known rule.
#include "tests/cli/fit.h"

namespace neura {
namespace {

struct FitTable : test::Fits {
  void SetUp() override { write_table(folder / "t.csv", 200); }
};

TEST_F(FitTable, LearnsClasses) {
  ASSERT_EQ(run({"train", "table", "t.csv", "--target", "y", "--out", "r"}), 0) << err();
  for (const char* part :
       {"\"y\" is one of 2 classes (classification): its cells are text", "numbers: id, a, b, z", "kinds: colour",
        "cells without a value: a 4", "160 rows to train and 40 to validate with", "mlp with "})
    EXPECT_NE(out().find(part), std::string::npos) << part << "\n" << out();
  EXPECT_GT(printed("accuracy "), 90) << out();
  expect_page("r/report.html", {"up taken for down"});
  ASSERT_EQ(run({"eval", "r", "t.csv"}), 0) << err();
  EXPECT_GT(printed("accuracy "), 90) << out();
  EXPECT_NE(out().find("of 200 rows"), std::string::npos) << out();

  write("new.csv",
        "b,a,id,colour,z\n1,19,3,green,60.5\n19,1,4,blue,-29.5\n");  // another order, no target, a new colour
  ASSERT_EQ(run({"predict", "r", "new.csv"}), 0) << err();
  EXPECT_EQ(out().find("row 1: up "), 0u) << out();
  EXPECT_NE(out().find("row 2: down "), std::string::npos) << out();
  ASSERT_EQ(run({"predict", "r", "new.csv", "--json"}), 0) << err();
  const auto lines = json_lines(out());
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0]["y"], "up");
  EXPECT_EQ(lines[1]["y"], "down");
}

TEST_F(FitTable, LearnsANumberAndReadsRowsFromStandardInput) {
  write_table(folder / "t.csv", 200, false);  // where a is missing, nothing says what z is
  ASSERT_EQ(run({"train", "table", "t.csv", "--target", "z", "--out", "r"}), 0) << err();
  EXPECT_NE(out().find("\"z\" is a number to predict (regression): its numbers have fractions"), std::string::npos)
      << out();
  EXPECT_GT(printed("r2 "), 0.9) << out();
  EXPECT_LT(printed("rmse "), 6) << out();  // z goes from -35 to 65
  ASSERT_EQ(std::system(
                ("cd '" + folder.path() + "' && head -4 t.csv | \"$NEURA_BIN\"/neura predict r --json > said").c_str()),
            0);
  const auto lines = json_lines(test::text_of(folder / "said"));
  ASSERT_EQ(lines.size(), 3u);
  std::istringstream rows(test::text_of(folder / "t.csv"));
  std::string row;
  std::getline(rows, row);
  for (const auto& line : lines) {
    std::getline(rows, row);
    EXPECT_NEAR(double(line["z"]), std::stod(row.substr(row.rfind(',') + 1)), 15);
  }
}

TEST_F(FitTable, GoesOnAfterCtrlCAsIfItHadNeverStopped) {
  expect_resumes({"train", "table", "t.csv", "--target", "y", "--batch-size", "2", "--epochs", "10"}, "epoch 1/10");
}

TEST_F(FitTable, DecidesByTheColumnUnlessItIsTold) {
  std::string text = "x;n\n";
  for (int i = 0; i < 40; ++i) text += std::to_string(i % 7) + ";" + std::to_string(i % 3) + "\n";
  write("n.csv", text);
  ASSERT_EQ(run({"train", "table", "n.csv", "--target", "n", "--quick", "--out", "a"}), 0) << err();
  EXPECT_NE(out().find("\"n\" is one of 3 classes (classification): it has at most 20 different whole numbers"),
            std::string::npos)
      << out();
  ASSERT_EQ(run({"train", "table", "n.csv", "--target", "n", "--as", "regression", "--model", "linear", "--quick",
                 "--out", "b"}),
            0)
      << err();
  EXPECT_NE(out().find("\"n\" is a number to predict (regression): as asked"), std::string::npos) << out();
}

TEST_F(FitTable, EndsWhereNumbersAreNoLongerFinite) {
  for (const std::string clip : {"clip=1", "clip=0"})
    EXPECT_EQ(fails(1, {"train", "table", "t.csv", "--target", "z", "--lr", "900", "--epochs", "9", "--set", "layers=9",
                        "--set", clip})
                  .find("neura: train: expected finite losses and gradients, got others in epoch "),
              0u)
        << err();
}

TEST_F(FitTable, TakesUtf8AndSaysSo) {
  std::string latin = "n,y\n", utf8 = latin;
  for (int i = 0; i < 40; ++i) {
    latin += std::to_string(i) + (i < 20 ? ",\xe9t\xe9\n" : ",hiver\n");
    utf8 += std::to_string(i) + (i < 20 ? ",\u00e9t\u00e9\n" : ",hiver\n");
  }
  write("latin.csv", latin), write("utf8.csv", utf8);
  EXPECT_NE(fails(1, {"train", "table", "latin.csv", "--target", "y", "--out", "a"})
                .find("latin.csv: expected UTF-8 text, got another byte at 6"),
            std::string::npos)
      << err();
  EXPECT_FALSE(std::filesystem::exists(folder / "a"));
  ASSERT_EQ(run({"train", "table", "utf8.csv", "--target", "y", "--quick", "--out", "b"}), 0) << err();
  ASSERT_EQ(run({"predict", "b", "utf8.csv", "--json"}), 0) << err();
  EXPECT_NE(out().find("\"\u00e9t\u00e9\":"), std::string::npos) << out();
}

TEST_F(FitTable, SaysWhatIsWrong) {
  EXPECT_EQ(fails(1, {"train", "table", "t.csv", "--target", "price"}),
            "neura: table: expected a column \"price\", got id, a, b, colour, y, z\n");
  EXPECT_EQ(fails(1, {"train", "table", "t.csv"}),
            "neura: table: expected --target COLUMN, got none; there are id, a, b, colour, y, z\n");
  EXPECT_NE(fails(1, {"train", "table", "t.csv", "--target", "y", "--as", "regression"})
                .find("expected numbers in the column \"y\" for regression, got text"),
            std::string::npos);
  write("short.csv", "a,y\n1,2\n");
  EXPECT_NE(fails(1, {"train", "table", "short.csv", "--target", "y"}).find("expected 10 rows or more, got 1"),
            std::string::npos);
  write("torn.csv", "a,y\n1,2\n3\n");
  EXPECT_NE(fails(1, {"train", "table", "torn.csv", "--target", "y"}).find("torn.csv: line 3: expected 2 cells, got 1"),
            std::string::npos);
  std::string same = "a,y\n";
  for (int i = 0; i < 20; ++i) same += std::to_string(i) + ",1\n";
  write("same.csv", same);
  EXPECT_NE(fails(1, {"train", "table", "same.csv", "--target", "y"})
                .find("expected two values or more in the column \"y\", got 1"),
            std::string::npos);
  ASSERT_EQ(run({"train", "table", "t.csv", "--target", "y", "--quick", "--out", "r"}), 0) << err();
  write("new.csv", "a,b\n1,2\n");
  EXPECT_NE(fails(1, {"predict", "r", "new.csv"}).find("expected a column \"id\", got a, b"), std::string::npos);
  write("new.csv", "id,a,b,colour,z\n1,two,3,blue,4\n");
  EXPECT_NE(fails(1, {"predict", "r", "new.csv"}).find("expected a number in column \"a\" of row 1, got \"two\""),
            std::string::npos);
}

}  // namespace
}  // namespace neura
