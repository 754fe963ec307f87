// The words of the tables of public functions; what a reader of them does not define is nothing.
#ifndef FUNCTION
#define FUNCTION(...)
#endif
#ifndef OPERATION
#define OPERATION(...)
#endif
#ifndef WRITES
#define WRITES(...)
#endif
#ifndef ALIAS
#define ALIAS(...)
#endif
#ifndef ALSO
#define ALSO(...)
#endif
