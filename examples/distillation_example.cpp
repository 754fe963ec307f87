// Distillation (Hinton et al., 2015): a small network learns from few labelled points and from what a large network
// says about many unlabelled ones. Softened by a temperature, its answers say more than a label: also how near the
// other classes were.
#include <neura/neura.h>

#include "example.h"

using namespace neura;

// Three spirals in the plane.
std::pair<Tensor, Tensor> make_points(std::int64_t count, Device device) {
  const Tensor label = randint(3, {count}), radius = rand({count}) * 0.9 + 0.1;
  const Tensor angle = radius * 4 + label.to(float32) * 2.0944 + randn({count}) * 0.15;
  return {stack({radius * cos(angle), radius * sin(angle)}, 1).to(device), label.to(device)};
}

double accuracy(nn::Sequential& net, const Tensor& x, const Tensor& y) {
  const NoGrad guard;
  return mean(eq(net(x).argmax(1), y).to(float32)).item<double>();
}

template <class Loss> void train(nn::Sequential& net, int steps, const Loss& loss_of) {
  optim::Adam optimizer(net.parameters(), {.lr = 0.01});
  for (int step = 0; step < steps; ++step) {
    const Tensor loss = loss_of();
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
  }
}

int main(int argc, char** argv) {
  const auto [device, quick] = example::options(argc, argv, "A small network learns from a large one.");
  manual_seed(3);
  const int steps = quick ? 300 : 1000;
  const auto [x, y] = make_points(3000, device);
  const auto [few_x, few_y] = make_points(30, device);
  const auto [test_x, test_y] = make_points(3000, device);

  nn::Sequential teacher{nn::Linear(2, 64), nn::ReLU(), nn::Linear(64, 64), nn::ReLU(), nn::Linear(64, 3)};
  teacher.to(device);
  train(teacher, steps, [&, &x = x, &y = y] { return cross_entropy(teacher(x), y); });
  teacher.eval();

  nn::Sequential alone{nn::Linear(2, 12), nn::ReLU(), nn::Linear(12, 12), nn::ReLU(), nn::Linear(12, 3)};
  alone.to(device);
  const Ref<nn::Module> copy = alone.clone();  // the same initial values
  nn::Sequential& student = *copy->as<nn::Sequential>();
  train(alone, steps, [&, &x = few_x, &y = few_y] { return cross_entropy(alone(x), y); });

  const double temperature = 2;
  Tensor soft;  // the teacher's answers, computed once
  {
    const NoGrad guard;
    soft = softmax(teacher(x) / temperature, 1);
  }
  train(student, steps, [&, &x = x, &few_x = few_x, &few_y = few_y] {
    // The divergence of the two distributions; T² keeps gradients as large as those of labels.
    const Tensor gap = kl_div(log_softmax(student(x) / temperature, 1), soft, {.batchmean = true});
    return gap * (temperature * temperature) + cross_entropy(student(few_x), few_y) * 0.1;
  });

  const auto parameters = [](nn::Module& net) {
    std::int64_t n = 0;
    for (const Tensor& p : net.parameters()) n += p.numel();
    return (long long)n;
  };
  const double of_teacher = accuracy(teacher, test_x, test_y), of_alone = accuracy(alone, test_x, test_y),
               of_student = accuracy(student, test_x, test_y);
  std::printf("teacher: %lld parameters, %.1f %% of new points right\n", parameters(teacher), 100 * of_teacher);
  std::printf("small network alone, 30 labels: %lld parameters, %.1f %%\n", parameters(alone), 100 * of_alone);
  std::printf("the same with a teacher: %.1f %%\n", 100 * of_student);
  example::check(of_teacher > 0.9, "the teacher knows the task");
  example::check(of_student > of_alone + 0.03, "the student is better for its teacher");
}
