// GCC's C++ library says by what exception a program was ended, and has 47 kB of names to say it with; LLVM's has 95.
// Here every exception is caught and said by main().
#include <cstdlib>
#include <exception>
#include <new>
#include <string>

#ifdef _LIBCPP_VERSION
extern "C" {
std::terminate_handler __cxa_terminate_handler = std::abort;
std::terminate_handler __cxa_unexpected_handler = std::abort;
std::new_handler __cxa_new_handler = nullptr;
}
#else
namespace __gnu_cxx {
void __verbose_terminate_handler() { std::abort(); }
}  // namespace __gnu_cxx
#endif
