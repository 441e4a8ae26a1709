// Products and convolutions as tasks of a worker of the device (overlap.h): the tiles that
// they are cut into, by how operands arrive and how the result is consumed. C++17, and is copied into emitted
// programs.
//
// Rows of the result are made as rows of the first factor arrive, columns as columns of the second do. Slices
// that arrive along the summed dimension add to all sums, slice by slice. If all ranks are to have the same
// result, slices are added in the order of ranks, not of arrival: replicas are the same to the bit.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "tensor/exchange/blas.h"
#include "tensor/exchange/overlap.h"
#include "tensor/exchange/parts.h"

namespace chorale {

// Of a product beside communication. Dimensions are those of slices, counted from 0; flat slices are 0.
struct ProductFlow {
  int arrives = -1;  // factor 0, or 1; -1: both are there
  int along = 0;     // the dimension of it along which slices of `arrive_from` ranks arrive
  int arrive_from = 1;
  int taken = 0;  // the dimension of the result along which slices are taken by `take_to` ranks
  int take_to = 1;
  bool replicated = false;  // the result is
  int pieces = 0;           // that rows are made in; 0: the usual number
};

template <typename Device, typename T, typename A, typename B>
typename Device::Worker summand_worker(Device& device, T* c, const A* a, const B* b, const ProductSides& s,
                                       const ProductFlow& flow) {
  const std::vector<std::int64_t> from = slice_cuts(s.inner, flow.arrive_from);
  std::vector<TileWork> work(from.size() - 1);
  for (int k = 0; k < static_cast<int>(work.size()); ++k) work[k] = {k, 0};
  const TileGrid operand = flow.arrives == 0 ? TileGrid{{0, s.rows}, from} : TileGrid{from, {0, s.columns}};
  const auto sums = std::make_shared<typename Device::template Summands<T, A, B>>(device, c, a, b, s);
  const auto left = std::make_shared<std::size_t>(work.size());
  return device.worker(
      operand, {{0, s.rows}, {0, s.columns}}, work,
      [=](int k) {
        sums->add(from[k], from[k + 1] - from[k]);
        if (--*left == 0) sums->put();
      },
      flow.replicated);
}

template <typename Device, typename T, typename A, typename B>
typename Device::Worker product_worker(Device& device, T* c, const A* a, const B* b, const Share& result,
                                       const Share& left, const Share& right, bool batched,
                                       const ProductFlow& flow) {
  const ProductSides s(result, left, right, batched);
  if (s.rows == 0) return device.worker({}, {}, {}, [](int) {});
  const int left_last = static_cast<int>(left.whole().size()) - 1,
            right_last = static_cast<int>(right.whole().size()) - 1;
  const bool sums = (flow.arrives == 0 && flow.along == left_last && left_last > 0) ||
                    (flow.arrives == 1 && flow.along == right_last - 1);
  if (sums && !batched && s.inner > 0) return summand_worker(device, c, a, b, s, flow);

  const bool by_columns = flow.arrives == 1 && flow.along == right_last && !batched;
  TileGrid made;
  const std::int64_t at_once = rows_of_tile(s.rows, flow.pieces);
  for (std::int64_t row = 0; row < s.rows; row += s.period)
    for (const std::int64_t cut : cuts(s.period, at_once))
      if (cut > 0) made.rows.push_back(row + cut);
  made.columns = {0, s.columns};
  if (flow.taken == static_cast<int>(result.whole().size()) - 1 && flow.taken > 0)
    made.columns = cuts_of_both(made.columns, slice_cuts(s.columns, flow.take_to));
  TileGrid operand;  // tiles of the factor that arrives
  std::function<int(int, int)> waits_for = [](int, int) { return -1; };
  if (flow.arrives == 0) {
    operand = {made.rows, {0, s.inner}};
    waits_for = [](int i, int) { return i; };
  } else if (by_columns) {
    made.columns = cuts_of_both(made.columns, slice_cuts(s.columns, flow.arrive_from));
    operand = {{0, s.inner}, made.columns};
    waits_for = [](int, int j) { return j; };
  } else if (flow.arrives == 1) {  // one of the batch, or all
    const std::int64_t batches =
        batched ? product(right.own()) / std::max<std::int64_t>(1, s.inner * s.columns) : 1;
    operand = {{0}, {0, s.columns}};
    for (std::int64_t k = 1; s.inner > 0 && k <= batches; ++k) operand.rows.push_back(k * s.inner);
    if (s.inner > 0)
      waits_for = [s, rows = made.rows](int i, int) {
        return static_cast<int>(s.second_row(rows[i]) / s.inner);
      };
  }
  std::vector<TileWork> work;
  for (int i = 0; i < made.down(); ++i)
    for (int j = 0; j < made.across(); ++j) work.push_back({waits_for(i, j), i * made.across() + j});
  return device.worker(operand, made, work, [=, &device](int k) {
    const int i = k / made.across(), j = k % made.across();
    device.product_part(c, a, b, s, made.rows[i], made.rows[i + 1] - made.rows[i], made.columns[j],
                        made.columns[j + 1] - made.columns[j]);
  });
}

// Images are processed as they arrive along the batch, output channels as kernels arrive; all at once for
// slices along other dimensions.
template <typename Device, typename T, typename A, typename B>
typename Device::Worker convolution_worker(Device& device, T* c, const A* images, const B* kernels,
                                           const Share& result, const ConvolutionSides& s,
                                           const ProductFlow& flow) {
  if (result.elements() == 0) return device.worker({}, {}, {}, [](int) {});
  const bool by_kernels = flow.arrives == 1 && flow.along == 0;
  std::vector<std::int64_t> outputs = {0, s.outputs};
  if (by_kernels) outputs = cuts_of_both(outputs, slice_cuts(s.outputs, flow.arrive_from));
  if (flow.taken == 1) outputs = cuts_of_both(outputs, slice_cuts(s.outputs, flow.take_to));
  const int parts = static_cast<int>(outputs.size()) - 1;
  TileGrid made, operand;
  for (std::int64_t n = 0; n < s.batch; ++n)
    for (int o = 0; o < parts; ++o) made.rows.push_back(n * s.outputs + outputs[o + 1]);
  made.columns = {0, s.out_image()};
  const bool by_images = flow.arrives == 0 && flow.along == 0;
  if (by_images)
    operand = {cuts(s.batch, 1), {0, s.image()}};
  else if (by_kernels)
    operand = {outputs, {0, s.inner()}};
  else if (flow.arrives >= 0)
    operand = {{0, flow.arrives == 0 ? s.batch : s.outputs}, {0, flow.arrives == 0 ? s.image() : s.inner()}};
  std::vector<TileWork> work;
  for (int k = 0; k < made.down(); ++k)
    work.push_back({flow.arrives < 0 ? -1 : by_images ? k / parts : by_kernels ? k % parts : 0, k});
  const auto made_of =
      std::make_shared<typename Device::template ImageParts<T, A, B>>(device, c, images, kernels, s);
  return device.worker(operand, made, work, [=](int k) {
    made_of->make(k / parts, outputs[k % parts], outputs[k % parts + 1] - outputs[k % parts]);
  });
}

}  // namespace chorale
