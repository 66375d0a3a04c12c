/*
 * conv3x3, for neon
 *   stage C: y 7, x 7, o 8, ky 3, kx 3, c 4
 *   stage R: y 7, x 7, o 8
 *   input X [9, 9, 4]
 *   constant W [3, 3, 4, 8]
 *   register C [1, 7, 8]
 *   output R [7, 7, 8]
 *   constant W_packed [1, 3, 3, 1, 4, 2, 4]
 */
void conv3x3(const float *restrict X, float *restrict R, const float *restrict W_packed) {
    const float32x4_t k0 = vdupq_n_f32(0.0f);
    #pragma GCC unroll 1
    for (int64_t R_y = 0; R_y < 7; ++R_y) {
        float *R_p = R + 56 * R_y;
        const float *X_p = X + 36 * R_y;
        /* C */
        float32x4_t C_0_0 = k0;
        float32x4_t C_0_1 = k0;
        float32x4_t C_1_0 = k0;
        float32x4_t C_1_1 = k0;
        float32x4_t C_2_0 = k0;
        float32x4_t C_2_1 = k0;
        float32x4_t C_3_0 = k0;
        float32x4_t C_3_1 = k0;
        float32x4_t C_4_0 = k0;
        float32x4_t C_4_1 = k0;
        float32x4_t C_5_0 = k0;
        float32x4_t C_5_1 = k0;
        float32x4_t C_6_0 = k0;
        float32x4_t C_6_1 = k0;
        for (int64_t C_ky = 0; C_ky < 3; ++C_ky) {
            const float *W_packed_p = W_packed + 96 * C_ky;
            const float *X_p_1 = X_p + 36 * C_ky;
            const float *W_packed_p_1 = ago_opaque(W_packed_p);
            const float *X_p_2 = ago_opaque(X_p_1);
            #pragma GCC unroll 1
            for (int64_t C_kx = 0; C_kx < 3; ++C_kx) {
                const float *W_packed_p_2 = W_packed_p_1 + 32 * C_kx;
                const float *X_p_3 = X_p_2 + 4 * C_kx;
                /* C */
                const float32x4_t X_v = vld1q_f32(X_p_3);
                const float32x4_t W_packed_v = vld1q_f32(W_packed_p_2);
                C_0_0 = vfmaq_laneq_f32(C_0_0, W_packed_v, X_v, 0);
                const float32x4_t W_packed_v_1 = vld1q_f32(W_packed_p_2 + 4);
                C_0_1 = vfmaq_laneq_f32(C_0_1, W_packed_v_1, X_v, 0);
                ago_keep_order();
                const float32x4_t X_v_1 = vld1q_f32(X_p_3 + 4);
                C_1_0 = vfmaq_laneq_f32(C_1_0, W_packed_v, X_v_1, 0);
                C_1_1 = vfmaq_laneq_f32(C_1_1, W_packed_v_1, X_v_1, 0);
                ago_keep_order();
                const float32x4_t X_v_2 = vld1q_f32(X_p_3 + 8);
                C_2_0 = vfmaq_laneq_f32(C_2_0, W_packed_v, X_v_2, 0);
                C_2_1 = vfmaq_laneq_f32(C_2_1, W_packed_v_1, X_v_2, 0);
                ago_keep_order();
                const float32x4_t X_v_3 = vld1q_f32(X_p_3 + 12);
                C_3_0 = vfmaq_laneq_f32(C_3_0, W_packed_v, X_v_3, 0);
                C_3_1 = vfmaq_laneq_f32(C_3_1, W_packed_v_1, X_v_3, 0);
                ago_keep_order();
                const float32x4_t X_v_4 = vld1q_f32(X_p_3 + 16);
                C_4_0 = vfmaq_laneq_f32(C_4_0, W_packed_v, X_v_4, 0);
                C_4_1 = vfmaq_laneq_f32(C_4_1, W_packed_v_1, X_v_4, 0);
                ago_keep_order();
                const float32x4_t X_v_5 = vld1q_f32(X_p_3 + 20);
                C_5_0 = vfmaq_laneq_f32(C_5_0, W_packed_v, X_v_5, 0);
                C_5_1 = vfmaq_laneq_f32(C_5_1, W_packed_v_1, X_v_5, 0);
                ago_keep_order();
                const float32x4_t X_v_6 = vld1q_f32(X_p_3 + 24);
                C_6_0 = vfmaq_laneq_f32(C_6_0, W_packed_v, X_v_6, 0);
                C_6_1 = vfmaq_laneq_f32(C_6_1, W_packed_v_1, X_v_6, 0);
                const float32x4_t W_packed_v_2 = vld1q_f32(W_packed_p_2 + 8);
                C_0_0 = vfmaq_laneq_f32(C_0_0, W_packed_v_2, X_v, 1);
                const float32x4_t W_packed_v_3 = vld1q_f32(W_packed_p_2 + 12);
                C_0_1 = vfmaq_laneq_f32(C_0_1, W_packed_v_3, X_v, 1);
                C_1_0 = vfmaq_laneq_f32(C_1_0, W_packed_v_2, X_v_1, 1);
                C_1_1 = vfmaq_laneq_f32(C_1_1, W_packed_v_3, X_v_1, 1);
                C_2_0 = vfmaq_laneq_f32(C_2_0, W_packed_v_2, X_v_2, 1);
                C_2_1 = vfmaq_laneq_f32(C_2_1, W_packed_v_3, X_v_2, 1);
                C_3_0 = vfmaq_laneq_f32(C_3_0, W_packed_v_2, X_v_3, 1);
                C_3_1 = vfmaq_laneq_f32(C_3_1, W_packed_v_3, X_v_3, 1);
                C_4_0 = vfmaq_laneq_f32(C_4_0, W_packed_v_2, X_v_4, 1);
                C_4_1 = vfmaq_laneq_f32(C_4_1, W_packed_v_3, X_v_4, 1);
                C_5_0 = vfmaq_laneq_f32(C_5_0, W_packed_v_2, X_v_5, 1);
                C_5_1 = vfmaq_laneq_f32(C_5_1, W_packed_v_3, X_v_5, 1);
                C_6_0 = vfmaq_laneq_f32(C_6_0, W_packed_v_2, X_v_6, 1);
                C_6_1 = vfmaq_laneq_f32(C_6_1, W_packed_v_3, X_v_6, 1);
                const float32x4_t W_packed_v_4 = vld1q_f32(W_packed_p_2 + 16);
                C_0_0 = vfmaq_laneq_f32(C_0_0, W_packed_v_4, X_v, 2);
                const float32x4_t W_packed_v_5 = vld1q_f32(W_packed_p_2 + 20);
                C_0_1 = vfmaq_laneq_f32(C_0_1, W_packed_v_5, X_v, 2);
                C_1_0 = vfmaq_laneq_f32(C_1_0, W_packed_v_4, X_v_1, 2);
                C_1_1 = vfmaq_laneq_f32(C_1_1, W_packed_v_5, X_v_1, 2);
                C_2_0 = vfmaq_laneq_f32(C_2_0, W_packed_v_4, X_v_2, 2);
                C_2_1 = vfmaq_laneq_f32(C_2_1, W_packed_v_5, X_v_2, 2);
                C_3_0 = vfmaq_laneq_f32(C_3_0, W_packed_v_4, X_v_3, 2);
                C_3_1 = vfmaq_laneq_f32(C_3_1, W_packed_v_5, X_v_3, 2);
                C_4_0 = vfmaq_laneq_f32(C_4_0, W_packed_v_4, X_v_4, 2);
                C_4_1 = vfmaq_laneq_f32(C_4_1, W_packed_v_5, X_v_4, 2);
                C_5_0 = vfmaq_laneq_f32(C_5_0, W_packed_v_4, X_v_5, 2);
                C_5_1 = vfmaq_laneq_f32(C_5_1, W_packed_v_5, X_v_5, 2);
                C_6_0 = vfmaq_laneq_f32(C_6_0, W_packed_v_4, X_v_6, 2);
                C_6_1 = vfmaq_laneq_f32(C_6_1, W_packed_v_5, X_v_6, 2);
                const float32x4_t W_packed_v_6 = vld1q_f32(W_packed_p_2 + 24);
                C_0_0 = vfmaq_laneq_f32(C_0_0, W_packed_v_6, X_v, 3);
                const float32x4_t W_packed_v_7 = vld1q_f32(W_packed_p_2 + 28);
                C_0_1 = vfmaq_laneq_f32(C_0_1, W_packed_v_7, X_v, 3);
                C_1_0 = vfmaq_laneq_f32(C_1_0, W_packed_v_6, X_v_1, 3);
                C_1_1 = vfmaq_laneq_f32(C_1_1, W_packed_v_7, X_v_1, 3);
                C_2_0 = vfmaq_laneq_f32(C_2_0, W_packed_v_6, X_v_2, 3);
                C_2_1 = vfmaq_laneq_f32(C_2_1, W_packed_v_7, X_v_2, 3);
                C_3_0 = vfmaq_laneq_f32(C_3_0, W_packed_v_6, X_v_3, 3);
                C_3_1 = vfmaq_laneq_f32(C_3_1, W_packed_v_7, X_v_3, 3);
                C_4_0 = vfmaq_laneq_f32(C_4_0, W_packed_v_6, X_v_4, 3);
                C_4_1 = vfmaq_laneq_f32(C_4_1, W_packed_v_7, X_v_4, 3);
                C_5_0 = vfmaq_laneq_f32(C_5_0, W_packed_v_6, X_v_5, 3);
                C_5_1 = vfmaq_laneq_f32(C_5_1, W_packed_v_7, X_v_5, 3);
                C_6_0 = vfmaq_laneq_f32(C_6_0, W_packed_v_6, X_v_6, 3);
                C_6_1 = vfmaq_laneq_f32(C_6_1, W_packed_v_7, X_v_6, 3);
            }
        }
        /* R */
        vst1q_f32(R_p, vmaxq_f32(k0, C_0_0));
        vst1q_f32(R_p + 4, vmaxq_f32(k0, C_0_1));
        vst1q_f32(R_p + 8, vmaxq_f32(k0, C_1_0));
        vst1q_f32(R_p + 12, vmaxq_f32(k0, C_1_1));
        vst1q_f32(R_p + 16, vmaxq_f32(k0, C_2_0));
        vst1q_f32(R_p + 20, vmaxq_f32(k0, C_2_1));
        vst1q_f32(R_p + 24, vmaxq_f32(k0, C_3_0));
        vst1q_f32(R_p + 28, vmaxq_f32(k0, C_3_1));
        vst1q_f32(R_p + 32, vmaxq_f32(k0, C_4_0));
        vst1q_f32(R_p + 36, vmaxq_f32(k0, C_4_1));
        vst1q_f32(R_p + 40, vmaxq_f32(k0, C_5_0));
        vst1q_f32(R_p + 44, vmaxq_f32(k0, C_5_1));
        vst1q_f32(R_p + 48, vmaxq_f32(k0, C_6_0));
        vst1q_f32(R_p + 52, vmaxq_f32(k0, C_6_1));
    }
}
