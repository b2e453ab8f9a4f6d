// Package weights reads safetensors checkpoints and turns them, once, into a pack: one page-aligned file whose
// tensors are stacked as the kernels want them and which is mapped without a copy ever after.
//
// A [Recipe] says what a pack holds, [Plan] computes its offsets without touching a file, [Ensure] returns the
// mapped [Pack], building it when the one on disk is absent or does not match its [Manifest]. Sizes and shapes
// are checked, overflow included, before anything is allocated, mapped or written. The package knows no model:
// names and shapes come from the recipe. It neither dequantises nor quantises.
package weights
