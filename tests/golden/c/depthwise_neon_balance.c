/*
 * depthwise, for neon
 *   input x [5, 5, 6]
 *   constant w [1, 1, 6]
 *   constant b [6]
 *   output out [5, 5, 6]
 *   register acc [2, 4]
 */
void depthwise(
    const float *restrict x,
    const float *restrict w,
    const float *restrict b,
    float *restrict out) {
    const float32x4_t k6 = vdupq_n_f32(6.0f);
    const float32x4_t k0 = vdupq_n_f32(0.0f);
    #pragma GCC unroll 1
    for (int64_t out_y = 0; out_y < 5; ++out_y) {
        const float *x_p = x + 30 * out_y;
        float *out_p = out + 30 * out_y;
        #pragma GCC unroll 1
        for (int64_t out_x_0 = 0; out_x_0 < 2; ++out_x_0) {
            const float *x_p_1 = x_p + 12 * out_x_0;
            float *out_p_1 = out_p + 12 * out_x_0;
            /* dw */
            const float32x4_t b_v = vld1q_f32(b);
            float32x4_t acc_0 = b_v;
            float32x4_t acc_1 = b_v;
            const float32x4_t w_v = vld1q_f32(w);
            acc_0 = vfmaq_f32(acc_0, vld1q_f32(x_p_1), w_v);
            acc_1 = vfmaq_f32(acc_1, vld1q_f32(x_p_1 + 6), w_v);
            /* out */
            vst1q_f32(out_p_1, vminq_f32(k6, vmaxq_f32(k0, acc_0)));
            vst1q_f32(out_p_1 + 6, vminq_f32(k6, vmaxq_f32(k0, acc_1)));
            /* dw */
            const float32x4_t b_v_1 = ago_load_2_neon(b + 4);
            acc_0 = b_v_1;
            acc_1 = b_v_1;
            const float32x4_t w_v_1 = ago_load_2_neon(w + 4);
            acc_0 = vfmaq_f32(acc_0, ago_load_2_neon(x_p_1 + 4), w_v_1);
            acc_1 = vfmaq_f32(acc_1, ago_load_2_neon(x_p_1 + 10), w_v_1);
            /* out */
            vst1_f32(out_p_1 + 4, vget_low_f32(vminq_f32(k6, vmaxq_f32(k0, acc_0))));
            vst1_f32(out_p_1 + 10, vget_low_f32(vminq_f32(k6, vmaxq_f32(k0, acc_1))));
        }
        /* dw */
        float32x4_t acc_0 = vld1q_f32(b);
        acc_0 = vfmaq_f32(acc_0, vld1q_f32(x_p + 24), vld1q_f32(w));
        /* out */
        vst1q_f32(out_p + 24, vminq_f32(k6, vmaxq_f32(k0, acc_0)));
        /* dw */
        acc_0 = ago_load_2_neon(b + 4);
        acc_0 = vfmaq_f32(acc_0, ago_load_2_neon(x_p + 28), ago_load_2_neon(w + 4));
        /* out */
        vst1_f32(out_p + 28, vget_low_f32(vminq_f32(k6, vmaxq_f32(k0, acc_0))));
    }
}
