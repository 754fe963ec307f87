// After a table of public functions.
#undef FUNCTION
#undef OPERATION
#undef WRITES
#undef ALIAS
#undef ALSO
