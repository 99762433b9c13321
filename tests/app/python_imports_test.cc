// Which local files a Python file imports, from the text of its import statements.
#include "app/python_imports.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "corisco/base/strings.h"
#include "support/temporary_folder.h"

namespace corisco::app {
namespace {
namespace fs = std::filesystem;
using Names = std::vector<std::string>;

struct PythonImports : ::testing::Test {
  void write(const std::string& name, const std::string& text) {
    fs::create_directories(fs::path(folder / name).parent_path());
    std::ofstream(folder / name) << text;
  }
  // What agent.py imports, as paths within the folder.
  Names found(const std::string& text) {
    write("agent.py", text);
    Names names;
    const auto root = fs::canonical(folder.path());
    for (const auto& path : imported_files(folder / "agent.py"))
      names.push_back(fs::path(path).lexically_relative(root).string());
    return names;
  }
  support::TemporaryFolder folder;
};

TEST_F(PythonImports, EveryFormOfTheStatement) {
  for (const char* name : {"a.py", "b.py", "c.py", "d.py", "not_imported.py"}) write(name, "");
  EXPECT_EQ(found("import a"), Names{"a.py"});
  EXPECT_EQ(found("import os, b as x, c  # not_imported\n"), (Names{"b.py", "c.py"}));
  EXPECT_EQ(found("def run():\n    from d import thing\r\n"), Names{"d.py"});
  EXPECT_EQ(found("import a; import b"), (Names{"a.py", "b.py"}));
  EXPECT_EQ(found("import \\\n  a"), Names{"a.py"});
  EXPECT_EQ(found("imported = 'a'\n# import a\nx = 'import b'\n"), Names{});
  EXPECT_EQ(found("import agent, json\n"), Names{}) << "itself, and what is installed";
}

TEST_F(PythonImports, PackagesAndTheirModules) {
  for (const char* name : {"tools/__init__.py", "tools/grade.py", "tools/deep/shapes.py", "tools/other.py"})
    write(name, "");
  EXPECT_EQ(found("import tools.grade"), (Names{"tools/__init__.py", "tools/grade.py"}));
  EXPECT_EQ(found("from tools import grade, unknown"), (Names{"tools/__init__.py", "tools/grade.py"}));
  EXPECT_EQ(found("from tools.deep import (  # two\n    shapes,\n    unknown as u,\n)\nimport json\n"),
            (Names{"tools/__init__.py", "tools/deep/shapes.py"}));
  write("tools/grade.py", "from . import other\nfrom .deep.shapes import square\n");
  write("tools/deep/shapes.py", "from .. import grade\n");
  EXPECT_EQ(found("from tools.grade import grade"),
            (Names{"tools/__init__.py", "tools/deep/shapes.py", "tools/grade.py", "tools/other.py"}));
}

TEST_F(PythonImports, GoesOnThroughWhatIsImportedAlsoInCircles) {
  write("a.py", "import b");
  write("b.py", "import a, agent");
  EXPECT_EQ(found("import a"), (Names{"a.py", "b.py"}));
  EXPECT_TRUE(imported_files(folder / "nowhere.py").empty());
}

TEST_F(PythonImports, NoMoreThanTheBound) {
  std::string text;
  for (std::size_t i = 0; i < kImportedFilesMax + 10; ++i) {
    write(cat("m", i, ".py"), "");
    text += cat("import m", i, "\n");
  }
  EXPECT_EQ(found(text).size(), kImportedFilesMax);
}
}  // namespace
}  // namespace corisco::app
