// Products on a GPU by cuBLAS, with -DCHORALE_CUBLAS (and -lcublas); without, none is, and a plain kernel
// does them (tensor/exchange/kernels.h). C++17, and is copied into emitted programs.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>

#ifdef CHORALE_CUBLAS
#include <cublas_v2.h>
#endif

#include "tensor/exchange/blas.h"

namespace chorale {

#ifdef CHORALE_CUBLAS
class GpuBlas {
 public:
  GpuBlas() = default;
  ~GpuBlas() {
    if (handle_ != nullptr) cublasDestroy(handle_);
  }
  GpuBlas(const GpuBlas&) = delete;
  GpuBlas& operator=(const GpuBlas&) = delete;

  template <typename T, typename A, typename B>
  static constexpr bool has() {
    return (std::is_same_v<T, A> || std::is_same_v<T, Real<A>>)&&std::is_same_v<A, B> &&
           !std::is_integral_v<T> && !std::is_integral_v<A> && sizeof(A) > 1;
  }
  // cuBLAS stores columns where emitted programs store rows: the transposed product of transposed factors.
  // Sums are made in float for 16-bit floats. `adds`: to what is there.
  template <typename T, typename A>
  void product(cudaStream_t stream, Matrix<T> c, Matrix<const A> a, Matrix<const A> b, std::int64_t rows,
               std::int64_t inner, std::int64_t columns, bool adds) {
    if (handle_ == nullptr) check(cublasCreate(&handle_));
    check(cublasSetStream(handle_, stream));
    using R = Real<T>;
    const R one = 1, before = adds ? 1 : 0;
    check(cublasGemmEx(handle_, CUBLAS_OP_N, CUBLAS_OP_N, static_cast<int>(columns), static_cast<int>(rows),
                       static_cast<int>(inner), &one, b.at, type<A>(), static_cast<int>(b.row), a.at,
                       type<A>(), static_cast<int>(a.row), &before, c.at, type<T>(), static_cast<int>(c.row),
                       std::is_same_v<R, double> ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F,
                       CUBLAS_GEMM_DEFAULT));
  }

 private:
  static void check(cublasStatus_t status) {
    if (status != CUBLAS_STATUS_SUCCESS)
      throw std::runtime_error("cuBLAS reports error " + std::to_string(static_cast<int>(status)));
  }
  template <typename T>
  static constexpr cudaDataType_t type() {
    return std::is_same_v<T, double>     ? CUDA_R_64F
           : std::is_same_v<T, Float16>  ? CUDA_R_16F
           : std::is_same_v<T, Bfloat16> ? CUDA_R_16BF
                                         : CUDA_R_32F;
  }

  cublasHandle_t handle_ = nullptr;
};
#else
struct GpuBlas {
  template <typename T, typename A, typename B>
  static constexpr bool has() {
    return false;
  }
  template <typename... Arguments>
  void product(const Arguments&...) {}
};
#endif

}  // namespace chorale
