/*
 * depthwise, for avx2
 *   input x [5, 5, 12]
 *   constant w [1, 1, 12]
 *   constant b [12]
 *   output out [5, 5, 12]
 *   register acc [2, 8]
 */
void depthwise(
    const float *restrict x,
    const float *restrict w,
    const float *restrict b,
    float *restrict out) {
    const __m256 k6 = _mm256_set1_ps(6.0f);
    const __m256 k0 = _mm256_set1_ps(0.0f);
    #pragma GCC unroll 1
    for (int64_t out_y = 0; out_y < 5; ++out_y) {
        const float *x_p = x + 60 * out_y;
        float *out_p = out + 60 * out_y;
        #pragma GCC unroll 1
        for (int64_t out_x_0 = 0; out_x_0 < 2; ++out_x_0) {
            const float *x_p_1 = x_p + 24 * out_x_0;
            float *out_p_1 = out_p + 24 * out_x_0;
            /* dw */
            const __m256 b_v = _mm256_loadu_ps(b);
            __m256 acc_0 = b_v;
            __m256 acc_1 = b_v;
            const __m256 w_v = _mm256_loadu_ps(w);
            acc_0 = _mm256_fmadd_ps(_mm256_loadu_ps(x_p_1), w_v, acc_0);
            acc_1 = _mm256_fmadd_ps(_mm256_loadu_ps(x_p_1 + 12), w_v, acc_1);
            /* out */
            _mm256_storeu_ps(out_p_1, _mm256_min_ps(k6, _mm256_max_ps(k0, acc_0)));
            _mm256_storeu_ps(out_p_1 + 12, _mm256_min_ps(k6, _mm256_max_ps(k0, acc_1)));
            /* dw */
            const __m256 b_v_1 = _mm256_zextps128_ps256(_mm_loadu_ps(b + 8));
            acc_0 = b_v_1;
            acc_1 = b_v_1;
            const __m256 w_v_1 = _mm256_zextps128_ps256(_mm_loadu_ps(w + 8));
            acc_0 = _mm256_fmadd_ps(_mm256_zextps128_ps256(_mm_loadu_ps(x_p_1 + 8)), w_v_1, acc_0);
            acc_1 = _mm256_fmadd_ps(_mm256_zextps128_ps256(_mm_loadu_ps(x_p_1 + 20)), w_v_1, acc_1);
            /* out */
            ago_store_4_avx2(out_p_1 + 8, _mm256_min_ps(k6, _mm256_max_ps(k0, acc_0)));
            ago_store_4_avx2(out_p_1 + 20, _mm256_min_ps(k6, _mm256_max_ps(k0, acc_1)));
        }
        /* dw */
        const __m256 b_v_2 = _mm256_loadu_ps(b);
        __m256 acc_0 = b_v_2;
        __m256 acc_1 = b_v_2;
        const __m256 w_v_2 = _mm256_loadu_ps(w);
        acc_0 = _mm256_fmadd_ps(_mm256_loadu_ps(x_p + 36), w_v_2, acc_0);
        acc_1 = _mm256_fmadd_ps(_mm256_loadu_ps(x_p + 48), w_v_2, acc_1);
        /* out */
        _mm256_storeu_ps(out_p + 36, _mm256_min_ps(k6, _mm256_max_ps(k0, acc_0)));
        _mm256_storeu_ps(out_p + 48, _mm256_min_ps(k6, _mm256_max_ps(k0, acc_1)));
        /* dw */
        const __m256 b_v_3 = _mm256_zextps128_ps256(_mm_loadu_ps(b + 8));
        acc_0 = b_v_3;
        acc_1 = b_v_3;
        const __m256 w_v_3 = _mm256_zextps128_ps256(_mm_loadu_ps(w + 8));
        acc_0 = _mm256_fmadd_ps(_mm256_zextps128_ps256(_mm_loadu_ps(x_p + 44)), w_v_3, acc_0);
        acc_1 = _mm256_fmadd_ps(_mm256_zextps128_ps256(_mm_loadu_ps(x_p + 56)), w_v_3, acc_1);
        /* out */
        ago_store_4_avx2(out_p + 44, _mm256_min_ps(k6, _mm256_max_ps(k0, acc_0)));
        ago_store_4_avx2(out_p + 56, _mm256_min_ps(k6, _mm256_max_ps(k0, acc_1)));
    }
}
