// For the sources of the list: the table that is included next adds its functions to the list `s`; end.h of the tables
// comes after it.
#define FUNCTION(name, result, parameters, signature, forms, text) s.add(signature, &name, forms, text);
#define OPERATION(name, type, result, parameters, signature, forms, text) s.add(signature, &name, forms, text);
#define WRITES(name) s.writes(&name##_);
#define ALIAS(other, name) s.alias(#other, #name);
#define ALSO(space) s.also(#space);
