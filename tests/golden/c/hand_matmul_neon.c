/*
 * matmul, for neon
 *   stage C: i 15, j 16, k 8
 *   stage C_out: i 15, j 16
 *   input A [15, 8]
 *   constant B [8, 16]
 *   output C [15, 16]
 *   register C_cache [5, 8]
 *   constant B_packed [2, 2, 4, 2, 4]
 */
void matmul(const float *restrict A, float *restrict C, const float *restrict B_packed) {
    const float32x4_t k0 = vdupq_n_f32(0.0f);
    for (int64_t C_out_j_0_0 = 0; C_out_j_0_0 < 2; ++C_out_j_0_0) {
        float *C_p = C + 8 * C_out_j_0_0;
        const float *B_packed_p = B_packed + 64 * C_out_j_0_0;
        #pragma GCC unroll 1
        for (int64_t C_out_i_0 = 0; C_out_i_0 < 3; ++C_out_i_0) {
            float *C_p_1 = C_p + 80 * C_out_i_0;
            const float *A_p = A + 40 * C_out_i_0;
            /* C */
            float32x4_t C_cache_0_0 = k0;
            float32x4_t C_cache_0_1 = k0;
            float32x4_t C_cache_1_0 = k0;
            float32x4_t C_cache_1_1 = k0;
            float32x4_t C_cache_2_0 = k0;
            float32x4_t C_cache_2_1 = k0;
            float32x4_t C_cache_3_0 = k0;
            float32x4_t C_cache_3_1 = k0;
            float32x4_t C_cache_4_0 = k0;
            float32x4_t C_cache_4_1 = k0;
            const float *B_packed_p_1 = ago_opaque(B_packed_p);
            const float *A_p_1 = ago_opaque(A_p);
            #pragma GCC unroll 1
            for (int64_t C_k_0 = 0; C_k_0 < 2; ++C_k_0) {
                const float *B_packed_p_2 = B_packed_p_1 + 32 * C_k_0;
                const float *A_p_2 = A_p_1 + 4 * C_k_0;
                /* C */
                const float32x4_t A_v = vld1q_f32(A_p_2);
                const float32x4_t B_packed_v = vld1q_f32(B_packed_p_2);
                C_cache_0_0 = vfmaq_laneq_f32(C_cache_0_0, B_packed_v, A_v, 0);
                const float32x4_t B_packed_v_1 = vld1q_f32(B_packed_p_2 + 4);
                C_cache_0_1 = vfmaq_laneq_f32(C_cache_0_1, B_packed_v_1, A_v, 0);
                const float32x4_t A_v_1 = vld1q_f32(A_p_2 + 8);
                C_cache_1_0 = vfmaq_laneq_f32(C_cache_1_0, B_packed_v, A_v_1, 0);
                C_cache_1_1 = vfmaq_laneq_f32(C_cache_1_1, B_packed_v_1, A_v_1, 0);
                const float32x4_t A_v_2 = vld1q_f32(A_p_2 + 16);
                C_cache_2_0 = vfmaq_laneq_f32(C_cache_2_0, B_packed_v, A_v_2, 0);
                C_cache_2_1 = vfmaq_laneq_f32(C_cache_2_1, B_packed_v_1, A_v_2, 0);
                const float32x4_t A_v_3 = vld1q_f32(A_p_2 + 24);
                C_cache_3_0 = vfmaq_laneq_f32(C_cache_3_0, B_packed_v, A_v_3, 0);
                C_cache_3_1 = vfmaq_laneq_f32(C_cache_3_1, B_packed_v_1, A_v_3, 0);
                const float32x4_t A_v_4 = vld1q_f32(A_p_2 + 32);
                C_cache_4_0 = vfmaq_laneq_f32(C_cache_4_0, B_packed_v, A_v_4, 0);
                C_cache_4_1 = vfmaq_laneq_f32(C_cache_4_1, B_packed_v_1, A_v_4, 0);
                const float32x4_t B_packed_v_2 = vld1q_f32(B_packed_p_2 + 8);
                C_cache_0_0 = vfmaq_laneq_f32(C_cache_0_0, B_packed_v_2, A_v, 1);
                const float32x4_t B_packed_v_3 = vld1q_f32(B_packed_p_2 + 12);
                C_cache_0_1 = vfmaq_laneq_f32(C_cache_0_1, B_packed_v_3, A_v, 1);
                C_cache_1_0 = vfmaq_laneq_f32(C_cache_1_0, B_packed_v_2, A_v_1, 1);
                C_cache_1_1 = vfmaq_laneq_f32(C_cache_1_1, B_packed_v_3, A_v_1, 1);
                C_cache_2_0 = vfmaq_laneq_f32(C_cache_2_0, B_packed_v_2, A_v_2, 1);
                C_cache_2_1 = vfmaq_laneq_f32(C_cache_2_1, B_packed_v_3, A_v_2, 1);
                C_cache_3_0 = vfmaq_laneq_f32(C_cache_3_0, B_packed_v_2, A_v_3, 1);
                C_cache_3_1 = vfmaq_laneq_f32(C_cache_3_1, B_packed_v_3, A_v_3, 1);
                C_cache_4_0 = vfmaq_laneq_f32(C_cache_4_0, B_packed_v_2, A_v_4, 1);
                C_cache_4_1 = vfmaq_laneq_f32(C_cache_4_1, B_packed_v_3, A_v_4, 1);
                const float32x4_t B_packed_v_4 = vld1q_f32(B_packed_p_2 + 16);
                C_cache_0_0 = vfmaq_laneq_f32(C_cache_0_0, B_packed_v_4, A_v, 2);
                const float32x4_t B_packed_v_5 = vld1q_f32(B_packed_p_2 + 20);
                C_cache_0_1 = vfmaq_laneq_f32(C_cache_0_1, B_packed_v_5, A_v, 2);
                C_cache_1_0 = vfmaq_laneq_f32(C_cache_1_0, B_packed_v_4, A_v_1, 2);
                C_cache_1_1 = vfmaq_laneq_f32(C_cache_1_1, B_packed_v_5, A_v_1, 2);
                C_cache_2_0 = vfmaq_laneq_f32(C_cache_2_0, B_packed_v_4, A_v_2, 2);
                C_cache_2_1 = vfmaq_laneq_f32(C_cache_2_1, B_packed_v_5, A_v_2, 2);
                C_cache_3_0 = vfmaq_laneq_f32(C_cache_3_0, B_packed_v_4, A_v_3, 2);
                C_cache_3_1 = vfmaq_laneq_f32(C_cache_3_1, B_packed_v_5, A_v_3, 2);
                C_cache_4_0 = vfmaq_laneq_f32(C_cache_4_0, B_packed_v_4, A_v_4, 2);
                C_cache_4_1 = vfmaq_laneq_f32(C_cache_4_1, B_packed_v_5, A_v_4, 2);
                const float32x4_t B_packed_v_6 = vld1q_f32(B_packed_p_2 + 24);
                C_cache_0_0 = vfmaq_laneq_f32(C_cache_0_0, B_packed_v_6, A_v, 3);
                const float32x4_t B_packed_v_7 = vld1q_f32(B_packed_p_2 + 28);
                C_cache_0_1 = vfmaq_laneq_f32(C_cache_0_1, B_packed_v_7, A_v, 3);
                C_cache_1_0 = vfmaq_laneq_f32(C_cache_1_0, B_packed_v_6, A_v_1, 3);
                C_cache_1_1 = vfmaq_laneq_f32(C_cache_1_1, B_packed_v_7, A_v_1, 3);
                C_cache_2_0 = vfmaq_laneq_f32(C_cache_2_0, B_packed_v_6, A_v_2, 3);
                C_cache_2_1 = vfmaq_laneq_f32(C_cache_2_1, B_packed_v_7, A_v_2, 3);
                C_cache_3_0 = vfmaq_laneq_f32(C_cache_3_0, B_packed_v_6, A_v_3, 3);
                C_cache_3_1 = vfmaq_laneq_f32(C_cache_3_1, B_packed_v_7, A_v_3, 3);
                C_cache_4_0 = vfmaq_laneq_f32(C_cache_4_0, B_packed_v_6, A_v_4, 3);
                C_cache_4_1 = vfmaq_laneq_f32(C_cache_4_1, B_packed_v_7, A_v_4, 3);
            }
            /* C_out */
            vst1q_f32(C_p_1, C_cache_0_0);
            vst1q_f32(C_p_1 + 4, C_cache_0_1);
            vst1q_f32(C_p_1 + 16, C_cache_1_0);
            vst1q_f32(C_p_1 + 20, C_cache_1_1);
            vst1q_f32(C_p_1 + 32, C_cache_2_0);
            vst1q_f32(C_p_1 + 36, C_cache_2_1);
            vst1q_f32(C_p_1 + 48, C_cache_3_0);
            vst1q_f32(C_p_1 + 52, C_cache_3_1);
            vst1q_f32(C_p_1 + 64, C_cache_4_0);
            vst1q_f32(C_p_1 + 68, C_cache_4_1);
        }
    }
}
