// For headers: the table that is included next declares its functions; end.h comes after it.
#define FUNCTION(name, result, parameters, ...) result name parameters;
#define OPERATION(name, type, result, parameters, ...) result name parameters;
#include "neura/tables/functions/words.h"
