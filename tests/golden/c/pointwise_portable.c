/*
 * pointwise, for portable
 *   input x [2, 4, 4]
 *   input r [2, 4, 4]
 *   constant w [2, 2, 2, 1, 2]
 *   constant b [2, 1, 2]
 *   output out [2, 4, 4]
 *   register conv [2, 2]
 */
void pointwise(
    const float *restrict x,
    const float *restrict r,
    const float *restrict w,
    const float *restrict b,
    float *restrict out) {
    for (int64_t out_y = 0; out_y < 2; ++out_y) {
        const float *r_p = r + 16 * out_y;
        float *out_p = out + 16 * out_y;
        const float *x_p = x + 16 * out_y;
        for (int64_t out_x_0 = 0; out_x_0 < 2; ++out_x_0) {
            const float *r_p_1 = r_p + 8 * out_x_0;
            float *out_p_1 = out_p + 8 * out_x_0;
            const float *x_p_1 = x_p + 8 * out_x_0;
            #pragma GCC unroll 1
            for (int64_t out_c_0 = 0; out_c_0 < 2; ++out_c_0) {
                const float *b_p = b + 2 * out_c_0;
                const float *r_p_2 = r_p_1 + 2 * out_c_0;
                float *out_p_2 = out_p_1 + 2 * out_c_0;
                const float *w_p = w + 8 * out_c_0;
                /* conv */
                const float b_v = b_p[0];
                float conv_0_0 = b_v;
                const float b_v_1 = b_p[1];
                float conv_0_1 = b_v_1;
                float conv_1_0 = b_v;
                float conv_1_1 = b_v_1;
                const float *x_p_2 = ago_opaque(x_p_1);
                const float *w_p_1 = ago_opaque(w_p);
                #pragma GCC unroll 1
                for (int64_t conv_k_0 = 0; conv_k_0 < 2; ++conv_k_0) {
                    const float *x_p_3 = x_p_2 + 2 * conv_k_0;
                    const float *w_p_2 = w_p_1 + 4 * conv_k_0;
                    /* conv */
                    const float x_v = x_p_3[0];
                    const float w_v = w_p_2[0];
                    conv_0_0 = x_v * w_v + conv_0_0;
                    const float w_v_1 = w_p_2[1];
                    conv_0_1 = x_v * w_v_1 + conv_0_1;
                    const float x_v_1 = x_p_3[4];
                    conv_1_0 = x_v_1 * w_v + conv_1_0;
                    conv_1_1 = x_v_1 * w_v_1 + conv_1_1;
                    const float x_v_2 = x_p_3[1];
                    const float w_v_2 = w_p_2[2];
                    conv_0_0 = x_v_2 * w_v_2 + conv_0_0;
                    const float w_v_3 = w_p_2[3];
                    conv_0_1 = x_v_2 * w_v_3 + conv_0_1;
                    const float x_v_3 = x_p_3[5];
                    conv_1_0 = x_v_3 * w_v_2 + conv_1_0;
                    conv_1_1 = x_v_3 * w_v_3 + conv_1_1;
                }
                /* out */
                out_p_2[0] = ago_min_f32(6.0f, ago_max_f32(0.0f, conv_0_0)) + r_p_2[0];
                out_p_2[1] = ago_min_f32(6.0f, ago_max_f32(0.0f, conv_0_1)) + r_p_2[1];
                out_p_2[4] = ago_min_f32(6.0f, ago_max_f32(0.0f, conv_1_0)) + r_p_2[4];
                out_p_2[5] = ago_min_f32(6.0f, ago_max_f32(0.0f, conv_1_1)) + r_p_2[5];
            }
        }
    }
}
