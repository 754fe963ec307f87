// After a file of wanted.h.
#undef WANTED_MODEL
#undef WANTED_OPERATION
#undef WANTED_ROW
#undef WANTED_DTYPE
#undef WANTED_CONVERSION
