// The C++ library says by what exception a program was ended, and has 47 kB of names to say it with. Here every
// exception is caught and said by main().
#include <cstdlib>

namespace __gnu_cxx {
void __verbose_terminate_handler() { std::abort(); }
}  // namespace __gnu_cxx
