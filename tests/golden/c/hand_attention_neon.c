/*
 * attention, for neon
 *   stage S: t 12, q 8, d 8
 *   stage M: q 8, t 12
 *   stage E: t 12, q 8
 *   stage Z: q 8, t 12
 *   stage O: e 8, q 8, t 12
 *   stage R: e 8, q 8
 *   input K [12, 8]
 *   input Q [8, 8]
 *   input V [12, 8]
 *   workspace S [12, 8]
 *   stack M [8]
 *   workspace E [12, 8]
 *   stack Z [8]
 *   register O [4, 8]
 *   output R [8, 8]
 */
void attention(
    const float *restrict K,
    const float *restrict Q,
    const float *restrict V,
    float *restrict S,
    float *restrict E,
    float *restrict R) {
    _Alignas(64) float M[8];
    _Alignas(64) float Z[8];
    const float32x4_t k0 = vdupq_n_f32(0.0f);
    const float32x4_t k_inf = vdupq_n_f32(-__builtin_inff());
    #pragma GCC unroll 1
    for (int64_t S_t_0 = 0; S_t_0 < 3; ++S_t_0) {
        float *S_p = S + 32 * S_t_0;
        const float *K_p = K + 32 * S_t_0;
        /* S */
        vst1q_f32(S_p, k0);
        vst1q_f32(S_p + 4, k0);
        vst1q_f32(S_p + 8, k0);
        vst1q_f32(S_p + 12, k0);
        vst1q_f32(S_p + 16, k0);
        vst1q_f32(S_p + 20, k0);
        vst1q_f32(S_p + 24, k0);
        vst1q_f32(S_p + 28, k0);
        #pragma GCC unroll 1
        for (int64_t S_d = 0; S_d < 8; ++S_d) {
            const float *K_p_1 = K_p + S_d;
            const float *Q_p = Q + 8 * S_d;
            /* S */
            const float32x4_t K_v = vld1q_dup_f32(K_p_1);
            const float32x4_t Q_v = vld1q_f32(Q_p);
            vst1q_f32(S_p, vfmaq_f32(vld1q_f32(S_p), K_v, Q_v));
            const float32x4_t Q_v_1 = vld1q_f32(Q_p + 4);
            vst1q_f32(S_p + 4, vfmaq_f32(vld1q_f32(S_p + 4), K_v, Q_v_1));
            const float32x4_t K_v_1 = vld1q_dup_f32(K_p_1 + 8);
            vst1q_f32(S_p + 8, vfmaq_f32(vld1q_f32(S_p + 8), K_v_1, Q_v));
            vst1q_f32(S_p + 12, vfmaq_f32(vld1q_f32(S_p + 12), K_v_1, Q_v_1));
            const float32x4_t K_v_2 = vld1q_dup_f32(K_p_1 + 16);
            vst1q_f32(S_p + 16, vfmaq_f32(vld1q_f32(S_p + 16), K_v_2, Q_v));
            vst1q_f32(S_p + 20, vfmaq_f32(vld1q_f32(S_p + 20), K_v_2, Q_v_1));
            const float32x4_t K_v_3 = vld1q_dup_f32(K_p_1 + 24);
            vst1q_f32(S_p + 24, vfmaq_f32(vld1q_f32(S_p + 24), K_v_3, Q_v));
            vst1q_f32(S_p + 28, vfmaq_f32(vld1q_f32(S_p + 28), K_v_3, Q_v_1));
        }
    }
    /* M */
    vst1q_f32(M, k_inf);
    vst1q_f32(M + 4, k_inf);
    #pragma GCC unroll 1
    for (int64_t M_t = 0; M_t < 12; ++M_t) {
        float *S_p_1 = S + 8 * M_t;
        /* M */
        vst1q_f32(M, vmaxq_f32(vld1q_f32(M), vld1q_f32(S_p_1)));
        vst1q_f32(M + 4, vmaxq_f32(vld1q_f32(M + 4), vld1q_f32(S_p_1 + 4)));
    }
    #pragma GCC unroll 1
    for (int64_t E_t = 0; E_t < 12; ++E_t) {
        float *S_p_2 = S + 8 * E_t;
        float *E_p = E + 8 * E_t;
        /* E */
        vst1q_f32(E_p, ago_exp_neon(vsubq_f32(vld1q_f32(S_p_2), vld1q_f32(M))));
        vst1q_f32(E_p + 4, ago_exp_neon(vsubq_f32(vld1q_f32(S_p_2 + 4), vld1q_f32(M + 4))));
    }
    /* Z */
    vst1q_f32(Z, k0);
    vst1q_f32(Z + 4, k0);
    #pragma GCC unroll 1
    for (int64_t Z_t = 0; Z_t < 12; ++Z_t) {
        float *E_p_1 = E + 8 * Z_t;
        /* Z */
        vst1q_f32(Z, vaddq_f32(vld1q_f32(Z), vld1q_f32(E_p_1)));
        vst1q_f32(Z + 4, vaddq_f32(vld1q_f32(Z + 4), vld1q_f32(E_p_1 + 4)));
    }
    #pragma GCC unroll 1
    for (int64_t R_e_0 = 0; R_e_0 < 2; ++R_e_0) {
        float *R_p = R + 32 * R_e_0;
        const float *V_p = V + 4 * R_e_0;
        /* O */
        float32x4_t O_0_0 = k0;
        float32x4_t O_0_1 = k0;
        float32x4_t O_1_0 = k0;
        float32x4_t O_1_1 = k0;
        float32x4_t O_2_0 = k0;
        float32x4_t O_2_1 = k0;
        float32x4_t O_3_0 = k0;
        float32x4_t O_3_1 = k0;
        float *E_p_2 = (float *)ago_opaque(E);
        const float *V_p_1 = ago_opaque(V_p);
        #pragma GCC unroll 1
        for (int64_t O_t = 0; O_t < 12; ++O_t) {
            float *E_p_3 = E_p_2 + 8 * O_t;
            const float *V_p_2 = V_p_1 + 8 * O_t;
            /* O */
            const float32x4_t V_v = vld1q_f32(V_p_2);
            const float32x4_t E_v = vld1q_f32(E_p_3);
            O_0_0 = vfmaq_laneq_f32(O_0_0, E_v, V_v, 0);
            const float32x4_t E_v_1 = vld1q_f32(E_p_3 + 4);
            O_0_1 = vfmaq_laneq_f32(O_0_1, E_v_1, V_v, 0);
            O_1_0 = vfmaq_laneq_f32(O_1_0, E_v, V_v, 1);
            O_1_1 = vfmaq_laneq_f32(O_1_1, E_v_1, V_v, 1);
            O_2_0 = vfmaq_laneq_f32(O_2_0, E_v, V_v, 2);
            O_2_1 = vfmaq_laneq_f32(O_2_1, E_v_1, V_v, 2);
            O_3_0 = vfmaq_laneq_f32(O_3_0, E_v, V_v, 3);
            O_3_1 = vfmaq_laneq_f32(O_3_1, E_v_1, V_v, 3);
        }
        /* R */
        const float32x4_t Z_v = vld1q_f32(Z);
        vst1q_f32(R_p, vdivq_f32(O_0_0, Z_v));
        const float32x4_t Z_v_1 = vld1q_f32(Z + 4);
        vst1q_f32(R_p + 4, vdivq_f32(O_0_1, Z_v_1));
        vst1q_f32(R_p + 8, vdivq_f32(O_1_0, Z_v));
        vst1q_f32(R_p + 12, vdivq_f32(O_1_1, Z_v_1));
        vst1q_f32(R_p + 16, vdivq_f32(O_2_0, Z_v));
        vst1q_f32(R_p + 20, vdivq_f32(O_2_1, Z_v_1));
        vst1q_f32(R_p + 24, vdivq_f32(O_3_0, Z_v));
        vst1q_f32(R_p + 28, vdivq_f32(O_3_1, Z_v_1));
    }
}
