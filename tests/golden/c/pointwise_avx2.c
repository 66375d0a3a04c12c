/*
 * pointwise, for avx2
 *   input x [2, 4, 4]
 *   input r [2, 4, 16]
 *   constant w [1, 2, 2, 2, 8]
 *   constant b [1, 2, 8]
 *   output out [2, 4, 16]
 *   register conv [2, 16]
 */
void pointwise(
    const float *restrict x,
    const float *restrict r,
    const float *restrict w,
    const float *restrict b,
    float *restrict out) {
    const __m256 k6 = _mm256_set1_ps(6.0f);
    const __m256 k0 = _mm256_set1_ps(0.0f);
    for (int64_t out_y = 0; out_y < 2; ++out_y) {
        const float *r_p = r + 64 * out_y;
        float *out_p = out + 64 * out_y;
        const float *x_p = x + 16 * out_y;
        #pragma GCC unroll 1
        for (int64_t out_x_0 = 0; out_x_0 < 2; ++out_x_0) {
            const float *r_p_1 = r_p + 32 * out_x_0;
            float *out_p_1 = out_p + 32 * out_x_0;
            const float *x_p_1 = x_p + 8 * out_x_0;
            /* conv */
            const __m256 b_v = _mm256_loadu_ps(b);
            __m256 conv_0_0 = b_v;
            const __m256 b_v_1 = _mm256_loadu_ps(b + 8);
            __m256 conv_0_1 = b_v_1;
            __m256 conv_1_0 = b_v;
            __m256 conv_1_1 = b_v_1;
            const float *x_p_2 = ago_opaque(x_p_1);
            const float *w_p = ago_opaque(w);
            #pragma GCC unroll 1
            for (int64_t conv_k_0 = 0; conv_k_0 < 2; ++conv_k_0) {
                const float *x_p_3 = x_p_2 + 2 * conv_k_0;
                const float *w_p_1 = w_p + 32 * conv_k_0;
                /* conv */
                const __m256 x_v = _mm256_broadcast_ss(x_p_3);
                const __m256 w_v = _mm256_loadu_ps(w_p_1);
                conv_0_0 = _mm256_fmadd_ps(x_v, w_v, conv_0_0);
                const __m256 w_v_1 = _mm256_loadu_ps(w_p_1 + 8);
                conv_0_1 = _mm256_fmadd_ps(x_v, w_v_1, conv_0_1);
                const __m256 x_v_1 = _mm256_broadcast_ss(x_p_3 + 4);
                conv_1_0 = _mm256_fmadd_ps(x_v_1, w_v, conv_1_0);
                conv_1_1 = _mm256_fmadd_ps(x_v_1, w_v_1, conv_1_1);
                const __m256 x_v_2 = _mm256_broadcast_ss(x_p_3 + 1);
                const __m256 w_v_2 = _mm256_loadu_ps(w_p_1 + 16);
                conv_0_0 = _mm256_fmadd_ps(x_v_2, w_v_2, conv_0_0);
                const __m256 w_v_3 = _mm256_loadu_ps(w_p_1 + 24);
                conv_0_1 = _mm256_fmadd_ps(x_v_2, w_v_3, conv_0_1);
                const __m256 x_v_3 = _mm256_broadcast_ss(x_p_3 + 5);
                conv_1_0 = _mm256_fmadd_ps(x_v_3, w_v_2, conv_1_0);
                conv_1_1 = _mm256_fmadd_ps(x_v_3, w_v_3, conv_1_1);
            }
            /* out */
            _mm256_storeu_ps(out_p_1, _mm256_add_ps(_mm256_min_ps(k6, _mm256_max_ps(k0, conv_0_0)), _mm256_loadu_ps(r_p_1)));
            _mm256_storeu_ps(out_p_1 + 8, _mm256_add_ps(_mm256_min_ps(k6, _mm256_max_ps(k0, conv_0_1)), _mm256_loadu_ps(r_p_1 + 8)));
            _mm256_storeu_ps(out_p_1 + 16, _mm256_add_ps(_mm256_min_ps(k6, _mm256_max_ps(k0, conv_1_0)), _mm256_loadu_ps(r_p_1 + 16)));
            _mm256_storeu_ps(out_p_1 + 24, _mm256_add_ps(_mm256_min_ps(k6, _mm256_max_ps(k0, conv_1_1)), _mm256_loadu_ps(r_p_1 + 24)));
        }
    }
}
