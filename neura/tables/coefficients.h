// Coefficients of polynomials that several kinds of numbers compute, each in its own way, as macros: they hold for
// every namespace. The suffix makes a literal of a number's kind.
#pragma once
// Of P, the constant first: exp(a^2) erfc(a) = t P(t), t = 1 / (1 + 0.3 a), to 2e-8 up to a = 10.2.
#define NEURA_ERFC_COEFFICIENTS(suffix)                                                                          \
  0.1691876835##suffix, 0.170719899##suffix, 0.1483103484##suffix, 0.2150248482##suffix, -0.09485680792##suffix, \
      0.5479883697##suffix, -0.5124914129##suffix, 0.4856580207##suffix, -0.1295409682##suffix
