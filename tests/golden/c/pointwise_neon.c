/*
 * pointwise, for neon
 *   input x [2, 4, 8]
 *   input r [2, 4, 8]
 *   constant w [1, 2, 4, 2, 4]
 *   constant b [1, 2, 4]
 *   output out [2, 4, 8]
 *   register conv [2, 8]
 */
void pointwise(
    const float *restrict x,
    const float *restrict r,
    const float *restrict w,
    const float *restrict b,
    float *restrict out) {
    const float32x4_t k6 = vdupq_n_f32(6.0f);
    const float32x4_t k0 = vdupq_n_f32(0.0f);
    for (int64_t out_y = 0; out_y < 2; ++out_y) {
        const float *r_p = r + 32 * out_y;
        float *out_p = out + 32 * out_y;
        const float *x_p = x + 32 * out_y;
        #pragma GCC unroll 1
        for (int64_t out_x_0 = 0; out_x_0 < 2; ++out_x_0) {
            const float *r_p_1 = r_p + 16 * out_x_0;
            float *out_p_1 = out_p + 16 * out_x_0;
            const float *x_p_1 = x_p + 16 * out_x_0;
            /* conv */
            const float32x4_t b_v = vld1q_f32(b);
            float32x4_t conv_0_0 = b_v;
            const float32x4_t b_v_1 = vld1q_f32(b + 4);
            float32x4_t conv_0_1 = b_v_1;
            float32x4_t conv_1_0 = b_v;
            float32x4_t conv_1_1 = b_v_1;
            const float *w_p = ago_opaque(w);
            const float *x_p_2 = ago_opaque(x_p_1);
            #pragma GCC unroll 1
            for (int64_t conv_k_0 = 0; conv_k_0 < 2; ++conv_k_0) {
                const float *w_p_1 = w_p + 32 * conv_k_0;
                const float *x_p_3 = x_p_2 + 4 * conv_k_0;
                /* conv */
                const float32x4_t x_v = vld1q_f32(x_p_3);
                const float32x4_t w_v = vld1q_f32(w_p_1);
                conv_0_0 = vfmaq_laneq_f32(conv_0_0, w_v, x_v, 0);
                const float32x4_t w_v_1 = vld1q_f32(w_p_1 + 4);
                conv_0_1 = vfmaq_laneq_f32(conv_0_1, w_v_1, x_v, 0);
                const float32x4_t x_v_1 = vld1q_f32(x_p_3 + 8);
                conv_1_0 = vfmaq_laneq_f32(conv_1_0, w_v, x_v_1, 0);
                conv_1_1 = vfmaq_laneq_f32(conv_1_1, w_v_1, x_v_1, 0);
                const float32x4_t w_v_2 = vld1q_f32(w_p_1 + 8);
                conv_0_0 = vfmaq_laneq_f32(conv_0_0, w_v_2, x_v, 1);
                const float32x4_t w_v_3 = vld1q_f32(w_p_1 + 12);
                conv_0_1 = vfmaq_laneq_f32(conv_0_1, w_v_3, x_v, 1);
                conv_1_0 = vfmaq_laneq_f32(conv_1_0, w_v_2, x_v_1, 1);
                conv_1_1 = vfmaq_laneq_f32(conv_1_1, w_v_3, x_v_1, 1);
                const float32x4_t w_v_4 = vld1q_f32(w_p_1 + 16);
                conv_0_0 = vfmaq_laneq_f32(conv_0_0, w_v_4, x_v, 2);
                const float32x4_t w_v_5 = vld1q_f32(w_p_1 + 20);
                conv_0_1 = vfmaq_laneq_f32(conv_0_1, w_v_5, x_v, 2);
                conv_1_0 = vfmaq_laneq_f32(conv_1_0, w_v_4, x_v_1, 2);
                conv_1_1 = vfmaq_laneq_f32(conv_1_1, w_v_5, x_v_1, 2);
                const float32x4_t w_v_6 = vld1q_f32(w_p_1 + 24);
                conv_0_0 = vfmaq_laneq_f32(conv_0_0, w_v_6, x_v, 3);
                const float32x4_t w_v_7 = vld1q_f32(w_p_1 + 28);
                conv_0_1 = vfmaq_laneq_f32(conv_0_1, w_v_7, x_v, 3);
                conv_1_0 = vfmaq_laneq_f32(conv_1_0, w_v_6, x_v_1, 3);
                conv_1_1 = vfmaq_laneq_f32(conv_1_1, w_v_7, x_v_1, 3);
            }
            /* out */
            vst1q_f32(out_p_1, vaddq_f32(vminq_f32(k6, vmaxq_f32(k0, conv_0_0)), vld1q_f32(r_p_1)));
            vst1q_f32(out_p_1 + 4, vaddq_f32(vminq_f32(k6, vmaxq_f32(k0, conv_0_1)), vld1q_f32(r_p_1 + 4)));
            vst1q_f32(out_p_1 + 8, vaddq_f32(vminq_f32(k6, vmaxq_f32(k0, conv_1_0)), vld1q_f32(r_p_1 + 8)));
            vst1q_f32(out_p_1 + 12, vaddq_f32(vminq_f32(k6, vmaxq_f32(k0, conv_1_1)), vld1q_f32(r_p_1 + 12)));
        }
    }
}
