// neura hub: the Python package's, which this program starts.
#include "cli/hub.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "neura/core/error.h"
#include "neura/core/settings.h"

namespace neura::cli {

int hub(std::vector<std::string> words) {
  const char* asked = setting_given(Setting::python);
  std::string python = asked ? asked : "python3";
  // A Python without the package ends with a sentence of ours, not with a trace.
  static constexpr char kStart[] =
      "import sys\n"
      "try:\n"
      "    from neura.hub.__main__ import main\n"
      "except ImportError as e:\n"
      "    sys.exit(f'neura: hub: expected a Python with the package neura, got {sys.executable} ({e}); '\n"
      "             'install the package, or name another in the environment variable NEURA_PYTHON')\n"
      "sys.exit(main(sys.argv[1:]))\n";
  std::string start = kStart, flag = "-c";
  std::vector<char*> argv{python.data(), flag.data(), start.data()};
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execvp(argv[0], argv.data());
  throw IoError("hub: expected a Python with the package neura, got \"" + python + "\": " + std::strerror(errno) +
                "; install it, or name it in the environment variable NEURA_PYTHON");
}

}  // namespace neura::cli
