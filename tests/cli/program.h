// Runs the program neura as a user does, and waits for it a bounded time.
#pragma once
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

namespace neura::test {

inline std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class Program {
 public:
  // Starts it in `folder`, where its output goes to files.
  Program(const std::string& folder, std::vector<std::string> arguments) : folder_(folder) {
    const char* bin = std::getenv("NEURA_BIN");
    arguments.insert(arguments.begin(), bin ? std::string(bin) + "/neura" : "neura");
    for (const char* name : {"/out", "/err"}) ::unlink((folder + name).c_str());  // of a program before it
    pid_ = ::fork();
    if (pid_ != 0) return;
    if (::chdir(folder.c_str()) != 0) ::_exit(126);
    redirect("out", 1), redirect("err", 2);
    std::vector<char*> argv;
    for (std::string& a : arguments) argv.push_back(a.data());
    argv.push_back(nullptr);
    ::execvp(argv[0], argv.data());
    ::_exit(127);
  }
  Program(const Program&) = delete;
  ~Program() {
    if (pid_ > 0 && !ended_) ::kill(pid_, SIGKILL), ::waitpid(pid_, nullptr, 0);
  }
  std::string out() const { return text_of(folder_ + "/out"); }
  std::string err() const { return text_of(folder_ + "/err"); }
  void send(int signal) { ::kill(pid_, signal); }
  // The exit code; 1000 + signal if one ended it; -1 if it is not done after `seconds`.
  int wait(double seconds = 120) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    while (std::chrono::steady_clock::now() < end) {
      int status = 0;
      if (::waitpid(pid_, &status, WNOHANG) == pid_) {
        ended_ = true;
        return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return -1;
  }

 private:
  void redirect(const char* name, int to) {
    const int file = ::open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ::dup2(file, to);
    ::close(file);
  }
  std::string folder_;
  pid_t pid_ = -1;
  bool ended_ = false;
};

}  // namespace neura::test
