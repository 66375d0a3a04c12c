/*
 * pointwise, for neon
 *   stage C: p 16, o 12, c 8
 *   stage R: p 16, o 12
 *   input X [16, 8]
 *   constant W [8, 12]
 *   register C [6, 8]
 *   output R [16, 12]
 *   constant W_packed [2, 2, 4, 2, 4]
 */
void pointwise(const float *restrict X, float *restrict R, const float *restrict W_packed) {
    const float32x4_t k0 = vdupq_n_f32(0.0f);
    for (int64_t R_o_0_0 = 0; R_o_0_0 < 2; ++R_o_0_0) {
        float *R_p = R + 4 * ago_min(1, 2 * R_o_0_0);
        const float *W_packed_p = W_packed + 64 * R_o_0_0;
        #pragma GCC unroll 1
        for (int64_t R_p_0 = 0; R_p_0 < 3; ++R_p_0) {
            float *R_p_1 = R_p + 12 * ago_min(10, 6 * R_p_0);
            const float *X_p = X + 8 * ago_min(10, 6 * R_p_0);
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
            const float *W_packed_p_1 = ago_opaque(W_packed_p);
            const float *X_p_1 = ago_opaque(X_p);
            #pragma GCC unroll 1
            for (int64_t C_c_0 = 0; C_c_0 < 2; ++C_c_0) {
                const float *W_packed_p_2 = W_packed_p_1 + 32 * C_c_0;
                const float *X_p_2 = X_p_1 + 4 * C_c_0;
                /* C */
                const float32x4_t X_v = vld1q_f32(X_p_2);
                const float32x4_t W_packed_v = vld1q_f32(W_packed_p_2);
                C_0_0 = vfmaq_laneq_f32(C_0_0, W_packed_v, X_v, 0);
                const float32x4_t W_packed_v_1 = vld1q_f32(W_packed_p_2 + 4);
                C_0_1 = vfmaq_laneq_f32(C_0_1, W_packed_v_1, X_v, 0);
                const float32x4_t X_v_1 = vld1q_f32(X_p_2 + 8);
                C_1_0 = vfmaq_laneq_f32(C_1_0, W_packed_v, X_v_1, 0);
                C_1_1 = vfmaq_laneq_f32(C_1_1, W_packed_v_1, X_v_1, 0);
                const float32x4_t X_v_2 = vld1q_f32(X_p_2 + 16);
                C_2_0 = vfmaq_laneq_f32(C_2_0, W_packed_v, X_v_2, 0);
                C_2_1 = vfmaq_laneq_f32(C_2_1, W_packed_v_1, X_v_2, 0);
                const float32x4_t X_v_3 = vld1q_f32(X_p_2 + 24);
                C_3_0 = vfmaq_laneq_f32(C_3_0, W_packed_v, X_v_3, 0);
                C_3_1 = vfmaq_laneq_f32(C_3_1, W_packed_v_1, X_v_3, 0);
                const float32x4_t X_v_4 = vld1q_f32(X_p_2 + 32);
                C_4_0 = vfmaq_laneq_f32(C_4_0, W_packed_v, X_v_4, 0);
                C_4_1 = vfmaq_laneq_f32(C_4_1, W_packed_v_1, X_v_4, 0);
                const float32x4_t X_v_5 = vld1q_f32(X_p_2 + 40);
                C_5_0 = vfmaq_laneq_f32(C_5_0, W_packed_v, X_v_5, 0);
                C_5_1 = vfmaq_laneq_f32(C_5_1, W_packed_v_1, X_v_5, 0);
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
            }
            /* R */
            vst1q_f32(R_p_1, vmaxq_f32(k0, C_0_0));
            vst1q_f32(R_p_1 + 4, vmaxq_f32(k0, C_0_1));
            vst1q_f32(R_p_1 + 12, vmaxq_f32(k0, C_1_0));
            vst1q_f32(R_p_1 + 16, vmaxq_f32(k0, C_1_1));
            vst1q_f32(R_p_1 + 24, vmaxq_f32(k0, C_2_0));
            vst1q_f32(R_p_1 + 28, vmaxq_f32(k0, C_2_1));
            vst1q_f32(R_p_1 + 36, vmaxq_f32(k0, C_3_0));
            vst1q_f32(R_p_1 + 40, vmaxq_f32(k0, C_3_1));
            vst1q_f32(R_p_1 + 48, vmaxq_f32(k0, C_4_0));
            vst1q_f32(R_p_1 + 52, vmaxq_f32(k0, C_4_1));
            vst1q_f32(R_p_1 + 60, vmaxq_f32(k0, C_5_0));
            vst1q_f32(R_p_1 + 64, vmaxq_f32(k0, C_5_1));
        }
    }
}
