/*
 * depthwise, for neon
 *   stage C: y 9, x 9, c 8, ky 3, kx 3
 *   stage R: y 9, x 9, c 8
 *   input X [11, 11, 8]
 *   constant W [3, 3, 8]
 *   register C [1, 5, 4]
 *   output R [9, 9, 8]
 *   constant W_packed [2, 3, 3, 4]
 */
void depthwise(const float *restrict X, float *restrict R, const float *restrict W_packed) {
    const float32x4_t k0 = vdupq_n_f32(0.0f);
    for (int64_t R_y = 0; R_y < 9; ++R_y) {
        const float *X_p = X + 88 * R_y;
        float *R_p = R + 72 * R_y;
        for (int64_t R_x_0 = 0; R_x_0 < 2; ++R_x_0) {
            const float *X_p_1 = X_p + 8 * ago_min(4, 5 * R_x_0);
            float *R_p_1 = R_p + 8 * ago_min(4, 5 * R_x_0);
            #pragma GCC unroll 1
            for (int64_t R_c_0 = 0; R_c_0 < 2; ++R_c_0) {
                const float *X_p_2 = X_p_1 + 4 * R_c_0;
                const float *W_packed_p = W_packed + 36 * R_c_0;
                float *R_p_2 = R_p_1 + 4 * R_c_0;
                /* C */
                float32x4_t C_0 = k0;
                float32x4_t C_1 = k0;
                float32x4_t C_2 = k0;
                float32x4_t C_3 = k0;
                float32x4_t C_4 = k0;
                const float32x4_t W_packed_v = vld1q_f32(W_packed_p);
                C_0 = vfmaq_f32(C_0, vld1q_f32(X_p_2), W_packed_v);
                const float32x4_t X_v = vld1q_f32(X_p_2 + 8);
                const float32x4_t W_packed_v_1 = vld1q_f32(W_packed_p + 4);
                C_0 = vfmaq_f32(C_0, X_v, W_packed_v_1);
                const float32x4_t X_v_1 = vld1q_f32(X_p_2 + 16);
                const float32x4_t W_packed_v_2 = vld1q_f32(W_packed_p + 8);
                C_0 = vfmaq_f32(C_0, X_v_1, W_packed_v_2);
                C_1 = vfmaq_f32(C_1, X_v, W_packed_v);
                C_1 = vfmaq_f32(C_1, X_v_1, W_packed_v_1);
                const float32x4_t X_v_2 = vld1q_f32(X_p_2 + 24);
                C_1 = vfmaq_f32(C_1, X_v_2, W_packed_v_2);
                C_2 = vfmaq_f32(C_2, X_v_1, W_packed_v);
                C_2 = vfmaq_f32(C_2, X_v_2, W_packed_v_1);
                const float32x4_t X_v_3 = vld1q_f32(X_p_2 + 32);
                C_2 = vfmaq_f32(C_2, X_v_3, W_packed_v_2);
                C_3 = vfmaq_f32(C_3, X_v_2, W_packed_v);
                C_3 = vfmaq_f32(C_3, X_v_3, W_packed_v_1);
                const float32x4_t X_v_4 = vld1q_f32(X_p_2 + 40);
                C_3 = vfmaq_f32(C_3, X_v_4, W_packed_v_2);
                C_4 = vfmaq_f32(C_4, X_v_3, W_packed_v);
                C_4 = vfmaq_f32(C_4, X_v_4, W_packed_v_1);
                C_4 = vfmaq_f32(C_4, vld1q_f32(X_p_2 + 48), W_packed_v_2);
                ago_keep_order();
                const float32x4_t W_packed_v_3 = vld1q_f32(W_packed_p + 12);
                C_0 = vfmaq_f32(C_0, vld1q_f32(X_p_2 + 88), W_packed_v_3);
                const float32x4_t X_v_5 = vld1q_f32(X_p_2 + 96);
                const float32x4_t W_packed_v_4 = vld1q_f32(W_packed_p + 16);
                C_0 = vfmaq_f32(C_0, X_v_5, W_packed_v_4);
                const float32x4_t X_v_6 = vld1q_f32(X_p_2 + 104);
                const float32x4_t W_packed_v_5 = vld1q_f32(W_packed_p + 20);
                C_0 = vfmaq_f32(C_0, X_v_6, W_packed_v_5);
                C_1 = vfmaq_f32(C_1, X_v_5, W_packed_v_3);
                C_1 = vfmaq_f32(C_1, X_v_6, W_packed_v_4);
                const float32x4_t X_v_7 = vld1q_f32(X_p_2 + 112);
                C_1 = vfmaq_f32(C_1, X_v_7, W_packed_v_5);
                C_2 = vfmaq_f32(C_2, X_v_6, W_packed_v_3);
                C_2 = vfmaq_f32(C_2, X_v_7, W_packed_v_4);
                const float32x4_t X_v_8 = vld1q_f32(X_p_2 + 120);
                C_2 = vfmaq_f32(C_2, X_v_8, W_packed_v_5);
                C_3 = vfmaq_f32(C_3, X_v_7, W_packed_v_3);
                C_3 = vfmaq_f32(C_3, X_v_8, W_packed_v_4);
                const float32x4_t X_v_9 = vld1q_f32(X_p_2 + 128);
                C_3 = vfmaq_f32(C_3, X_v_9, W_packed_v_5);
                C_4 = vfmaq_f32(C_4, X_v_8, W_packed_v_3);
                C_4 = vfmaq_f32(C_4, X_v_9, W_packed_v_4);
                C_4 = vfmaq_f32(C_4, vld1q_f32(X_p_2 + 136), W_packed_v_5);
                ago_keep_order();
                const float32x4_t W_packed_v_6 = vld1q_f32(W_packed_p + 24);
                C_0 = vfmaq_f32(C_0, vld1q_f32(X_p_2 + 176), W_packed_v_6);
                const float32x4_t X_v_10 = vld1q_f32(X_p_2 + 184);
                const float32x4_t W_packed_v_7 = vld1q_f32(W_packed_p + 28);
                C_0 = vfmaq_f32(C_0, X_v_10, W_packed_v_7);
                const float32x4_t X_v_11 = vld1q_f32(X_p_2 + 192);
                const float32x4_t W_packed_v_8 = vld1q_f32(W_packed_p + 32);
                C_0 = vfmaq_f32(C_0, X_v_11, W_packed_v_8);
                C_1 = vfmaq_f32(C_1, X_v_10, W_packed_v_6);
                C_1 = vfmaq_f32(C_1, X_v_11, W_packed_v_7);
                const float32x4_t X_v_12 = vld1q_f32(X_p_2 + 200);
                C_1 = vfmaq_f32(C_1, X_v_12, W_packed_v_8);
                C_2 = vfmaq_f32(C_2, X_v_11, W_packed_v_6);
                C_2 = vfmaq_f32(C_2, X_v_12, W_packed_v_7);
                const float32x4_t X_v_13 = vld1q_f32(X_p_2 + 208);
                C_2 = vfmaq_f32(C_2, X_v_13, W_packed_v_8);
                C_3 = vfmaq_f32(C_3, X_v_12, W_packed_v_6);
                C_3 = vfmaq_f32(C_3, X_v_13, W_packed_v_7);
                const float32x4_t X_v_14 = vld1q_f32(X_p_2 + 216);
                C_3 = vfmaq_f32(C_3, X_v_14, W_packed_v_8);
                C_4 = vfmaq_f32(C_4, X_v_13, W_packed_v_6);
                C_4 = vfmaq_f32(C_4, X_v_14, W_packed_v_7);
                C_4 = vfmaq_f32(C_4, vld1q_f32(X_p_2 + 224), W_packed_v_8);
                /* R */
                vst1q_f32(R_p_2, vmaxq_f32(k0, C_0));
                vst1q_f32(R_p_2 + 8, vmaxq_f32(k0, C_1));
                vst1q_f32(R_p_2 + 16, vmaxq_f32(k0, C_2));
                vst1q_f32(R_p_2 + 24, vmaxq_f32(k0, C_3));
                vst1q_f32(R_p_2 + 32, vmaxq_f32(k0, C_4));
            }
        }
    }
}
