// Coefficients of polynomials that several kinds of numbers compute, each in its own way, as macros: they hold for
// every namespace. The suffix makes a literal of a number's kind.
#pragma once
// Of P, the constant first: exp(a^2) erfc(a) = t P(t), t = 1 / (1 + 0.3 a), to 2e-8 up to a = 10.2.
#define NEURA_ERFC_COEFFICIENTS(suffix)                                                                          \
  0.1691876835##suffix, 0.170719899##suffix, 0.1483103484##suffix, 0.2150248482##suffix, -0.09485680792##suffix, \
      0.5479883697##suffix, -0.5124914129##suffix, 0.4856580207##suffix, -0.1295409682##suffix
// Of polynomials in a, the constant first: 2^(0.72134752 a^2) erfc(a / sqrt(2)) / 2 is the first over the second, to
// 3.5e-7 up to a = 13.3. 0.72134752 is log2(e) / 2 as a float has it: the quotient holds what that took, too.
#define NEURA_NORMAL_TAIL_OVER(suffix) \
  0.49999982##suffix, 0.3601275086##suffix, 0.1184854656##suffix, 0.01680230908##suffix
#define NEURA_NORMAL_TAIL_UNDER(suffix) \
  1.0##suffix, 1.518122315##suffix, 0.9483951926##suffix, 0.2967776656##suffix, 0.04212292656##suffix
