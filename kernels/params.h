// params.h: generated from the Go types of package kernels by make generate; not to be edited.
#pragma once
#include <metal_stdlib>
#pragma METAL fp contract(off)  // arithmetic is as written, on every target

constant constexpr uint RING_SIZE = 64;
constant constexpr uint MAX_ALTERNATIVES = 20;
constant constexpr uint MAX_PAGES = 1024;
constant constexpr uint MAX_ROWS = 4096;
constant constexpr uint KEY_BLOCK = 256;
constant constexpr uint MAX_STOPS = 16;
constant constexpr uint STEP_OFFSET = 0;
constant constexpr uint RING_OFFSET = 256;
constant constexpr uint ALTS_OFFSET = 3328;
constant constexpr uint PAGES_OFFSET = 13568;
constant constexpr uint IDS_OFFSET = 17664;
constant constexpr uint STEP_BYTES = 34048;
constant constexpr uint RING_STOPPED = 1;
constant constexpr uint RING_LIMIT = 2;
constant constexpr uint RING_NAN = 4;

struct StepParams {
  uint pos;
  uint rows;
  uint active;
  uint slot;
  uint blocks;
  uint parity;
  uint step;
  uint limit;
  uint seed_lo;
  uint seed_hi;
  uint greedy;
  uint top_k;
  float temp;
  float top_p;
  float min_p;
  uint alts;
  uint logprobs;
  uint num_stops;
  uint stops[16];
  uint reserved[30];
};
static_assert(sizeof(StepParams) == 256, "StepParams");
static_assert(__builtin_offsetof(StepParams, pos) == 0, "StepParams.pos");
static_assert(__builtin_offsetof(StepParams, rows) == 4, "StepParams.rows");
static_assert(__builtin_offsetof(StepParams, active) == 8, "StepParams.active");
static_assert(__builtin_offsetof(StepParams, slot) == 12, "StepParams.slot");
static_assert(__builtin_offsetof(StepParams, blocks) == 16, "StepParams.blocks");
static_assert(__builtin_offsetof(StepParams, parity) == 20, "StepParams.parity");
static_assert(__builtin_offsetof(StepParams, step) == 24, "StepParams.step");
static_assert(__builtin_offsetof(StepParams, limit) == 28, "StepParams.limit");
static_assert(__builtin_offsetof(StepParams, seed_lo) == 32, "StepParams.seed_lo");
static_assert(__builtin_offsetof(StepParams, seed_hi) == 36, "StepParams.seed_hi");
static_assert(__builtin_offsetof(StepParams, greedy) == 40, "StepParams.greedy");
static_assert(__builtin_offsetof(StepParams, top_k) == 44, "StepParams.top_k");
static_assert(__builtin_offsetof(StepParams, temp) == 48, "StepParams.temp");
static_assert(__builtin_offsetof(StepParams, top_p) == 52, "StepParams.top_p");
static_assert(__builtin_offsetof(StepParams, min_p) == 56, "StepParams.min_p");
static_assert(__builtin_offsetof(StepParams, alts) == 60, "StepParams.alts");
static_assert(__builtin_offsetof(StepParams, logprobs) == 64, "StepParams.logprobs");
static_assert(__builtin_offsetof(StepParams, num_stops) == 68, "StepParams.num_stops");
static_assert(__builtin_offsetof(StepParams, stops) == 72, "StepParams.stops");
static_assert(__builtin_offsetof(StepParams, reserved) == 136, "StepParams.reserved");

struct RingRecord {
  uint seq;
  uint count;
  uint tokens[5];
  uint flags;
  float logs[4];
};
static_assert(sizeof(RingRecord) == 48, "RingRecord");
static_assert(__builtin_offsetof(RingRecord, seq) == 0, "RingRecord.seq");
static_assert(__builtin_offsetof(RingRecord, count) == 4, "RingRecord.count");
static_assert(__builtin_offsetof(RingRecord, tokens) == 8, "RingRecord.tokens");
static_assert(__builtin_offsetof(RingRecord, flags) == 28, "RingRecord.flags");
static_assert(__builtin_offsetof(RingRecord, logs) == 32, "RingRecord.logs");

struct Alternative {
  uint id;
  float log;
};
static_assert(sizeof(Alternative) == 8, "Alternative");
static_assert(__builtin_offsetof(Alternative, id) == 0, "Alternative.id");
static_assert(__builtin_offsetof(Alternative, log) == 4, "Alternative.log");

struct StepBuffer {
  StepParams p;
  RingRecord ring[64];
  Alternative alts[1280];
  uint pages[1024];
  uint ids[4096];
};
static_assert(sizeof(StepBuffer) == 34048, "StepBuffer");
static_assert(__builtin_offsetof(StepBuffer, p) == 0, "StepBuffer.p");
static_assert(__builtin_offsetof(StepBuffer, ring) == 256, "StepBuffer.ring");
static_assert(__builtin_offsetof(StepBuffer, alts) == 3328, "StepBuffer.alts");
static_assert(__builtin_offsetof(StepBuffer, pages) == 13568, "StepBuffer.pages");
static_assert(__builtin_offsetof(StepBuffer, ids) == 17664, "StepBuffer.ids");

struct GemvParams {
  uint n;
  uint k;
  uint x_stride;
  uint y_stride;
  uint last;
};
static_assert(sizeof(GemvParams) == 20, "GemvParams");
static_assert(__builtin_offsetof(GemvParams, n) == 0, "GemvParams.n");
static_assert(__builtin_offsetof(GemvParams, k) == 4, "GemvParams.k");
static_assert(__builtin_offsetof(GemvParams, x_stride) == 8, "GemvParams.x_stride");
static_assert(__builtin_offsetof(GemvParams, y_stride) == 12, "GemvParams.y_stride");
static_assert(__builtin_offsetof(GemvParams, last) == 16, "GemvParams.last");

struct GateUpParams {
  uint i;
  uint k;
};
static_assert(sizeof(GateUpParams) == 8, "GateUpParams");
static_assert(__builtin_offsetof(GateUpParams, i) == 0, "GateUpParams.i");
static_assert(__builtin_offsetof(GateUpParams, k) == 4, "GateUpParams.k");

struct NormParams {
  uint d;
  float eps;
  uint last;
};
static_assert(sizeof(NormParams) == 12, "NormParams");
static_assert(__builtin_offsetof(NormParams, d) == 0, "NormParams.d");
static_assert(__builtin_offsetof(NormParams, eps) == 4, "NormParams.eps");
static_assert(__builtin_offsetof(NormParams, last) == 8, "NormParams.last");

struct EmbedParams {
  uint d;
  uint n;
  float eps;
};
static_assert(sizeof(EmbedParams) == 12, "EmbedParams");
static_assert(__builtin_offsetof(EmbedParams, d) == 0, "EmbedParams.d");
static_assert(__builtin_offsetof(EmbedParams, n) == 4, "EmbedParams.n");
static_assert(__builtin_offsetof(EmbedParams, eps) == 8, "EmbedParams.eps");

struct HeadParams {
  uint n;
  uint k;
};
static_assert(sizeof(HeadParams) == 8, "HeadParams");
static_assert(__builtin_offsetof(HeadParams, n) == 0, "HeadParams.n");
static_assert(__builtin_offsetof(HeadParams, k) == 4, "HeadParams.k");

struct ArgmaxParams {
  uint parts;
};
static_assert(sizeof(ArgmaxParams) == 4, "ArgmaxParams");
static_assert(__builtin_offsetof(ArgmaxParams, parts) == 0, "ArgmaxParams.parts");

struct SampleParams {
  uint n;
  uint parts;
  uint chunks;
};
static_assert(sizeof(SampleParams) == 12, "SampleParams");
static_assert(__builtin_offsetof(SampleParams, n) == 0, "SampleParams.n");
static_assert(__builtin_offsetof(SampleParams, parts) == 4, "SampleParams.parts");
static_assert(__builtin_offsetof(SampleParams, chunks) == 8, "SampleParams.chunks");

struct DeltaParams {
  uint key_heads;
  uint value_heads;
  uint stride;
  float eps;
};
static_assert(sizeof(DeltaParams) == 16, "DeltaParams");
static_assert(__builtin_offsetof(DeltaParams, key_heads) == 0, "DeltaParams.key_heads");
static_assert(__builtin_offsetof(DeltaParams, value_heads) == 4, "DeltaParams.value_heads");
static_assert(__builtin_offsetof(DeltaParams, stride) == 8, "DeltaParams.stride");
static_assert(__builtin_offsetof(DeltaParams, eps) == 12, "DeltaParams.eps");

struct AttnParams {
  uint heads;
  uint keys;
  uint gate;
  uint norm;
  uint pairs;
  uint stride;
  uint blocks;
  uint waves;
  float eps;
  float scale;
  uint turn_hi[64];
  uint turn_lo[64];
};
static_assert(sizeof(AttnParams) == 552, "AttnParams");
static_assert(__builtin_offsetof(AttnParams, heads) == 0, "AttnParams.heads");
static_assert(__builtin_offsetof(AttnParams, keys) == 4, "AttnParams.keys");
static_assert(__builtin_offsetof(AttnParams, gate) == 8, "AttnParams.gate");
static_assert(__builtin_offsetof(AttnParams, norm) == 12, "AttnParams.norm");
static_assert(__builtin_offsetof(AttnParams, pairs) == 16, "AttnParams.pairs");
static_assert(__builtin_offsetof(AttnParams, stride) == 20, "AttnParams.stride");
static_assert(__builtin_offsetof(AttnParams, blocks) == 24, "AttnParams.blocks");
static_assert(__builtin_offsetof(AttnParams, waves) == 28, "AttnParams.waves");
static_assert(__builtin_offsetof(AttnParams, eps) == 32, "AttnParams.eps");
static_assert(__builtin_offsetof(AttnParams, scale) == 36, "AttnParams.scale");
static_assert(__builtin_offsetof(AttnParams, turn_hi) == 40, "AttnParams.turn_hi");
static_assert(__builtin_offsetof(AttnParams, turn_lo) == 296, "AttnParams.turn_lo");

struct AttnMergeParams {
  uint heads;
  uint keys;
  uint gate;
  uint stride;
  uint blocks;
  float scale;
};
static_assert(sizeof(AttnMergeParams) == 24, "AttnMergeParams");
static_assert(__builtin_offsetof(AttnMergeParams, heads) == 0, "AttnMergeParams.heads");
static_assert(__builtin_offsetof(AttnMergeParams, keys) == 4, "AttnMergeParams.keys");
static_assert(__builtin_offsetof(AttnMergeParams, gate) == 8, "AttnMergeParams.gate");
static_assert(__builtin_offsetof(AttnMergeParams, stride) == 12, "AttnMergeParams.stride");
static_assert(__builtin_offsetof(AttnMergeParams, blocks) == 16, "AttnMergeParams.blocks");
static_assert(__builtin_offsetof(AttnMergeParams, scale) == 20, "AttnMergeParams.scale");

struct RouteParams {
  uint experts;
  uint top_k;
  uint stride;
  uint tile;
};
static_assert(sizeof(RouteParams) == 16, "RouteParams");
static_assert(__builtin_offsetof(RouteParams, experts) == 0, "RouteParams.experts");
static_assert(__builtin_offsetof(RouteParams, top_k) == 4, "RouteParams.top_k");
static_assert(__builtin_offsetof(RouteParams, stride) == 8, "RouteParams.stride");
static_assert(__builtin_offsetof(RouteParams, tile) == 12, "RouteParams.tile");

struct RouteSigmoidParams {
  uint experts;
  uint top_k;
  uint stride;
  uint groups;
  uint keep;
  uint norm;
  float scale;
};
static_assert(sizeof(RouteSigmoidParams) == 28, "RouteSigmoidParams");
static_assert(__builtin_offsetof(RouteSigmoidParams, experts) == 0, "RouteSigmoidParams.experts");
static_assert(__builtin_offsetof(RouteSigmoidParams, top_k) == 4, "RouteSigmoidParams.top_k");
static_assert(__builtin_offsetof(RouteSigmoidParams, stride) == 8, "RouteSigmoidParams.stride");
static_assert(__builtin_offsetof(RouteSigmoidParams, groups) == 12, "RouteSigmoidParams.groups");
static_assert(__builtin_offsetof(RouteSigmoidParams, keep) == 16, "RouteSigmoidParams.keep");
static_assert(__builtin_offsetof(RouteSigmoidParams, norm) == 20, "RouteSigmoidParams.norm");
static_assert(__builtin_offsetof(RouteSigmoidParams, scale) == 24, "RouteSigmoidParams.scale");

struct ExpertParams {
  uint n;
  uint k;
  uint top_k;
  uint experts;
  uint stride;
};
static_assert(sizeof(ExpertParams) == 20, "ExpertParams");
static_assert(__builtin_offsetof(ExpertParams, n) == 0, "ExpertParams.n");
static_assert(__builtin_offsetof(ExpertParams, k) == 4, "ExpertParams.k");
static_assert(__builtin_offsetof(ExpertParams, top_k) == 8, "ExpertParams.top_k");
static_assert(__builtin_offsetof(ExpertParams, experts) == 12, "ExpertParams.experts");
static_assert(__builtin_offsetof(ExpertParams, stride) == 16, "ExpertParams.stride");

struct MambaParams {
  uint heads;
  uint groups;
  uint stride;
  float dt_min;
  float dt_max;
};
static_assert(sizeof(MambaParams) == 20, "MambaParams");
static_assert(__builtin_offsetof(MambaParams, heads) == 0, "MambaParams.heads");
static_assert(__builtin_offsetof(MambaParams, groups) == 4, "MambaParams.groups");
static_assert(__builtin_offsetof(MambaParams, stride) == 8, "MambaParams.stride");
static_assert(__builtin_offsetof(MambaParams, dt_min) == 12, "MambaParams.dt_min");
static_assert(__builtin_offsetof(MambaParams, dt_max) == 16, "MambaParams.dt_max");

struct GroupNormParams {
  uint d;
  uint groups;
  uint stride;
  float eps;
};
static_assert(sizeof(GroupNormParams) == 16, "GroupNormParams");
static_assert(__builtin_offsetof(GroupNormParams, d) == 0, "GroupNormParams.d");
static_assert(__builtin_offsetof(GroupNormParams, groups) == 4, "GroupNormParams.groups");
static_assert(__builtin_offsetof(GroupNormParams, stride) == 8, "GroupNormParams.stride");
static_assert(__builtin_offsetof(GroupNormParams, eps) == 12, "GroupNormParams.eps");

struct Relu2Params {
  uint i;
  uint k;
  uint top_k;
};
static_assert(sizeof(Relu2Params) == 12, "Relu2Params");
static_assert(__builtin_offsetof(Relu2Params, i) == 0, "Relu2Params.i");
static_assert(__builtin_offsetof(Relu2Params, k) == 4, "Relu2Params.k");
static_assert(__builtin_offsetof(Relu2Params, top_k) == 8, "Relu2Params.top_k");

struct NeuronUnionParams {
  uint words;
  uint dense;
};
static_assert(sizeof(NeuronUnionParams) == 8, "NeuronUnionParams");
static_assert(__builtin_offsetof(NeuronUnionParams, words) == 0, "NeuronUnionParams.words");
static_assert(__builtin_offsetof(NeuronUnionParams, dense) == 4, "NeuronUnionParams.dense");

struct NeuronParams {
  uint n;
  uint d;
  uint top_k;
  uint slices;
  uint dense;
};
static_assert(sizeof(NeuronParams) == 20, "NeuronParams");
static_assert(__builtin_offsetof(NeuronParams, n) == 0, "NeuronParams.n");
static_assert(__builtin_offsetof(NeuronParams, d) == 4, "NeuronParams.d");
static_assert(__builtin_offsetof(NeuronParams, top_k) == 8, "NeuronParams.top_k");
static_assert(__builtin_offsetof(NeuronParams, slices) == 12, "NeuronParams.slices");
static_assert(__builtin_offsetof(NeuronParams, dense) == 16, "NeuronParams.dense");

struct NeuronCombineParams {
  uint d;
  uint top_k;
  uint slices;
  uint shared;
  float eps;
};
static_assert(sizeof(NeuronCombineParams) == 20, "NeuronCombineParams");
static_assert(__builtin_offsetof(NeuronCombineParams, d) == 0, "NeuronCombineParams.d");
static_assert(__builtin_offsetof(NeuronCombineParams, top_k) == 4, "NeuronCombineParams.top_k");
static_assert(__builtin_offsetof(NeuronCombineParams, slices) == 8, "NeuronCombineParams.slices");
static_assert(__builtin_offsetof(NeuronCombineParams, shared) == 12, "NeuronCombineParams.shared");
static_assert(__builtin_offsetof(NeuronCombineParams, eps) == 16, "NeuronCombineParams.eps");
