void scale(const float* restrict a, float* restrict b, long n) {
  for (long i = 0; i < n; ++i) b[i] = 2.0f * a[i];
}
