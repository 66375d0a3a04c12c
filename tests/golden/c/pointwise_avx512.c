/*
 * pointwise, for avx512
 *   input x [2, 4, 4]
 *   input r [2, 4, 32]
 *   constant w [1, 2, 2, 2, 16]
 *   constant b [1, 2, 16]
 *   output out [2, 4, 32]
 *   register conv [2, 32]
 */
void pointwise(
    const float *restrict x,
    const float *restrict r,
    const float *restrict w,
    const float *restrict b,
    float *restrict out) {
    const __m512 k6 = _mm512_set1_ps(6.0f);
    const __m512 k0 = _mm512_set1_ps(0.0f);
    for (int64_t out_y = 0; out_y < 2; ++out_y) {
        const float *r_p = r + 128 * out_y;
        float *out_p = out + 128 * out_y;
        const float *x_p = x + 16 * out_y;
        #pragma GCC unroll 1
        for (int64_t out_x_0 = 0; out_x_0 < 2; ++out_x_0) {
            const float *r_p_1 = r_p + 64 * out_x_0;
            float *out_p_1 = out_p + 64 * out_x_0;
            const float *x_p_1 = x_p + 8 * out_x_0;
            /* conv */
            const __m512 b_v = _mm512_loadu_ps(b);
            __m512 conv_0_0 = b_v;
            const __m512 b_v_1 = _mm512_loadu_ps(b + 16);
            __m512 conv_0_1 = b_v_1;
            __m512 conv_1_0 = b_v;
            __m512 conv_1_1 = b_v_1;
            const float *x_p_2 = ago_opaque(x_p_1);
            const float *w_p = ago_opaque(w);
            #pragma GCC unroll 1
            for (int64_t conv_k_0 = 0; conv_k_0 < 2; ++conv_k_0) {
                const float *x_p_3 = x_p_2 + 2 * conv_k_0;
                const float *w_p_1 = w_p + 64 * conv_k_0;
                /* conv */
                const __m512 x_v = _mm512_set1_ps(*(x_p_3));
                const __m512 w_v = _mm512_loadu_ps(w_p_1);
                conv_0_0 = _mm512_fmadd_ps(x_v, w_v, conv_0_0);
                const __m512 w_v_1 = _mm512_loadu_ps(w_p_1 + 16);
                conv_0_1 = _mm512_fmadd_ps(x_v, w_v_1, conv_0_1);
                const __m512 x_v_1 = _mm512_set1_ps(*(x_p_3 + 4));
                conv_1_0 = _mm512_fmadd_ps(x_v_1, w_v, conv_1_0);
                conv_1_1 = _mm512_fmadd_ps(x_v_1, w_v_1, conv_1_1);
                const __m512 x_v_2 = _mm512_set1_ps(*(x_p_3 + 1));
                const __m512 w_v_2 = _mm512_loadu_ps(w_p_1 + 32);
                conv_0_0 = _mm512_fmadd_ps(x_v_2, w_v_2, conv_0_0);
                const __m512 w_v_3 = _mm512_loadu_ps(w_p_1 + 48);
                conv_0_1 = _mm512_fmadd_ps(x_v_2, w_v_3, conv_0_1);
                const __m512 x_v_3 = _mm512_set1_ps(*(x_p_3 + 5));
                conv_1_0 = _mm512_fmadd_ps(x_v_3, w_v_2, conv_1_0);
                conv_1_1 = _mm512_fmadd_ps(x_v_3, w_v_3, conv_1_1);
            }
            /* out */
            _mm512_storeu_ps(out_p_1, _mm512_add_ps(_mm512_min_ps(k6, _mm512_max_ps(k0, conv_0_0)), _mm512_loadu_ps(r_p_1)));
            _mm512_storeu_ps(out_p_1 + 16, _mm512_add_ps(_mm512_min_ps(k6, _mm512_max_ps(k0, conv_0_1)), _mm512_loadu_ps(r_p_1 + 16)));
            _mm512_storeu_ps(out_p_1 + 32, _mm512_add_ps(_mm512_min_ps(k6, _mm512_max_ps(k0, conv_1_0)), _mm512_loadu_ps(r_p_1 + 32)));
            _mm512_storeu_ps(out_p_1 + 48, _mm512_add_ps(_mm512_min_ps(k6, _mm512_max_ps(k0, conv_1_1)), _mm512_loadu_ps(r_p_1 + 48)));
        }
    }
}
