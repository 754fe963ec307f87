// One element's step by each optimizer, from the numbers of kernels/optim.h. N is float, double or a vector of them,
// with + - * /, sqrt, abs, maximum, minimum and if_greater(a, b, yes, no). Included inside a target's namespace, which
// says with NEURA_RULE how its functions are compiled.
template <class N> struct sgd {
  N lr, weight_decay, momentum, rest, sign;
  bool nesterov, first;
  NEURA_RULE explicit sgd(const SgdStep& s)
      : lr(s.lr),
        weight_decay(s.weight_decay),
        momentum(s.momentum),
        rest(1 - s.dampening),
        sign(s.sign),
        nesterov(s.nesterov),
        first(s.first) {}
  template <int States> NEURA_RULE void step(N& p, N g, N* s) const {
    g = g * sign + p * weight_decay;
    if constexpr (States > 0) {
      s[0] = first ? g : s[0] * momentum + g * rest;
      g = nesterov ? g + s[0] * momentum : s[0];
    }
    p = p - g * lr;
  }
};

// What Adam, NAdam and RAdam do alike: decay, and the moving averages of the gradient and of its square.
template <class N> struct Moments {
  N decay, weight_decay, rest1, beta2, rest2, eps, sign;
  template <class Step> NEURA_RULE explicit Moments(const Step& s)
      : decay(s.decay),
        weight_decay(s.weight_decay),
        rest1(1 - s.beta1),
        beta2(s.beta2),
        rest2(1 - s.beta2),
        eps(s.eps),
        sign(s.sign) {}
  NEURA_RULE void update(N& p, N& g, N* s) const {
    p = p * decay;
    g = g * sign + p * weight_decay;
    s[0] = s[0] + (g - s[0]) * rest1;
    s[1] = s[1] * beta2 + g * g * rest2;
  }
};

template <class N> struct adam : Moments<N> {
  N step_size, scale;
  NEURA_RULE explicit adam(const AdamStep& s)
      : Moments<N>(s), step_size(s.step_size), scale(1 / s.bias_correction2_sqrt) {}
  template <int States> NEURA_RULE void step(N& p, N g, N* s) const {
    this->update(p, g, s);
    N v = s[1];
    if constexpr (States > 2) v = s[2] = maximum(s[2], v);
    p = p - step_size * s[0] / (sqrt(v) * scale + this->eps);
  }
};

// States: 1 plain, 2 with momentum, 3 centred (the momentum buffer, unless momentum is 0, in the middle).
template <class N> struct rmsprop {
  N lr, alpha, rest, eps, weight_decay, momentum, sign;
  bool inside, moving;
  NEURA_RULE explicit rmsprop(const RmspropStep& s)
      : lr(s.lr),
        alpha(s.alpha),
        rest(1 - s.alpha),
        eps(s.eps),
        weight_decay(s.weight_decay),
        momentum(s.momentum),
        sign(s.sign),
        inside(s.eps_inside_sqrt),
        moving(s.momentum > 0) {}
  template <int States> NEURA_RULE void step(N& p, N g, N* s) const {
    g = g * sign + p * weight_decay;
    s[0] = s[0] * alpha + g * g * rest;
    N v = s[0];
    if constexpr (States > 2) {
      s[2] = s[2] + (g - s[2]) * rest;
      v = v - s[2] * s[2];
    }
    const N move = g / (inside ? sqrt(v + eps) : sqrt(v) + eps);
    if (States > 1 && moving) {
      s[1] = s[1] * momentum + move;
      p = p - lr * s[1];
    } else {
      p = p - lr * move;
    }
  }
};

template <class N> struct adagrad {
  N lr, weight_decay, eps, sign;
  NEURA_RULE explicit adagrad(const AdagradStep& s)
      : lr(s.lr), weight_decay(s.weight_decay), eps(s.eps), sign(s.sign) {}
  template <int States> NEURA_RULE void step(N& p, N g, N* s) const {
    g = g * sign + p * weight_decay;
    s[0] = s[0] + g * g;
    p = p - lr * g / (sqrt(s[0]) + eps);
  }
};

template <class N> struct adadelta {
  N lr, rho, rest, eps, weight_decay, sign;
  NEURA_RULE explicit adadelta(const AdadeltaStep& s)
      : lr(s.lr), rho(s.rho), rest(1 - s.rho), eps(s.eps), weight_decay(s.weight_decay), sign(s.sign) {}
  template <int States> NEURA_RULE void step(N& p, N g, N* s) const {
    g = g * sign + p * weight_decay;
    s[0] = s[0] * rho + g * g * rest;
    const N delta = sqrt(s[1] + eps) / sqrt(s[0] + eps) * g;
    s[1] = s[1] * rho + delta * delta * rest;
    p = p - lr * delta;
  }
};

template <class N> struct adamax {
  N step_size, rest1, beta2, eps, weight_decay, sign;
  NEURA_RULE explicit adamax(const AdamaxStep& s)
      : step_size(s.step_size),
        rest1(1 - s.beta1),
        beta2(s.beta2),
        eps(s.eps),
        weight_decay(s.weight_decay),
        sign(s.sign) {}
  template <int States> NEURA_RULE void step(N& p, N g, N* s) const {
    g = g * sign + p * weight_decay;
    s[0] = s[0] + (g - s[0]) * rest1;
    s[1] = maximum(s[1] * beta2, abs(g) + eps);
    p = p - step_size * s[0] / s[1];
  }
};

template <class N> struct nadam : Moments<N> {
  N bias_correction2, grad_factor, average_factor;
  NEURA_RULE explicit nadam(const NadamStep& s)
      : Moments<N>(s),
        bias_correction2(s.bias_correction2),
        grad_factor(s.grad_factor),
        average_factor(s.average_factor) {}
  template <int States> NEURA_RULE void step(N& p, N g, N* s) const {
    this->update(p, g, s);
    const N denominator = sqrt(s[1] / bias_correction2) + this->eps;
    p = p - (grad_factor * g + average_factor * s[0]) / denominator;
  }
};

template <class N> struct radam : Moments<N> {
  N step_size, rectified;
  bool plain;
  NEURA_RULE explicit radam(const RadamStep& s)
      : Moments<N>(s), step_size(s.step_size), rectified(s.rectified), plain(s.rectified == 0) {}
  template <int States> NEURA_RULE void step(N& p, N g, N* s) const {
    this->update(p, g, s);
    p = p - step_size * (plain ? s[0] : s[0] * rectified / (sqrt(s[1]) + this->eps));
  }
};

template <class N> struct asgd {
  N shrink, eta, mu, weight_decay, sign;
  NEURA_RULE explicit asgd(const AsgdStep& s)
      : shrink(1 - s.lambd * s.eta), eta(s.eta), mu(s.mu), weight_decay(s.weight_decay), sign(s.sign) {}
  template <int States> NEURA_RULE void step(N& p, N g, N* s) const {
    g = g * sign + p * weight_decay;
    p = p * shrink - eta * g;
    s[0] = s[0] + mu * (p - s[0]);
  }
};

template <class N> struct rprop {
  N etaminus, etaplus, least, most, sign;
  NEURA_RULE explicit rprop(const RpropStep& s)
      : etaminus(s.etaminus), etaplus(s.etaplus), least(s.step_size_min), most(s.step_size_max), sign(s.sign) {}
  template <int States> NEURA_RULE void step(N& p, N g, N* s) const {
    g = g * sign;
    const N product = g * s[0], zero(0.0);
    const N factor = if_greater(product, zero, etaplus, if_greater(zero, product, etaminus, N(1.0)));
    s[1] = minimum(maximum(s[1] * factor, least), most);
    g = if_greater(zero, product, zero, g);
    const N move = if_greater(g, zero, s[1], if_greater(zero, g, zero - s[1], zero));
    p = p - move;
    s[0] = g;
  }
};
