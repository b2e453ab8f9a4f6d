package gputest

import (
	"cmp"
	"math"
	"slices"

	"sotto/kernels"
)

// refPhilox is Philox4x32-10 (Salmon et al., SC 2011): ten rounds of counter c under key k.
func refPhilox(c [4]uint32, k [2]uint32) [4]uint32 {
	for range 10 {
		a, b := uint64(c[0])*0xd2511f53, uint64(c[2])*0xcd9e8d57
		c = [4]uint32{uint32(b>>32) ^ c[1] ^ k[0], uint32(b), uint32(a>>32) ^ c[3] ^ k[1], uint32(a)}
		k[0] += 0x9e3779b9
		k[1] += 0xbb67ae85
	}
	return c
}

// refGumbel is the noise of a token in a step.
func refGumbel(p kernels.StepParams, id int) float64 {
	w := refPhilox([4]uint32{uint32(id) / 4, p.Step, 0, 0}, [2]uint32{p.SeedLo, p.SeedHi})
	v := min((float64(w[id%4])+0.5)/(1<<32), 1-math.Exp2(-24)) // float32 ends there
	return -math.Log(-math.Log1p(-v))
}

// refOrder lists tokens by logit, ties to the lower id.
func refOrder(logits []float32) []int {
	ids := make([]int, len(logits))
	for i := range ids {
		ids[i] = i
	}
	slices.SortStableFunc(ids, func(a, b int) int { return cmp.Compare(logits[b], logits[a]) })
	return ids
}

// refKept is what top-p, min-p and top-k leave, by logit, in that order as mlx-lm applies them. close is the
// smallest distance, as a part of the whole, of a sum to top-p's limit.
func refKept(logits []float32, p kernels.StepParams) (kept []int, close float64) {
	ids := refOrder(logits)
	best := float64(logits[ids[0]])
	weight := func(i int) float64 {
		if l := float64(logits[i]); l != best {
			return math.Exp(l - best)
		}
		return 1
	}
	total, above := 0.0, 0.0
	for _, i := range ids {
		total += weight(i)
	}
	close = 1
	n := 0
	for n < len(ids) {
		end := n
		for end < len(ids) && logits[ids[end]] == logits[ids[n]] {
			end++
		}
		l, limit := float64(logits[ids[n]]), float64(p.TopP)*total
		if p.TopP < 1 && n > 0 {
			close = min(close, math.Abs(above-limit)/total)
		}
		if n > 0 && (p.TopP < 1 && above >= limit || p.MinP > 0 && l < best+math.Log(float64(p.MinP))) {
			break
		}
		for _, i := range ids[n:end] {
			above += weight(i)
		}
		n = end
	}
	if p.TopK > 0 {
		n = min(n, int(p.TopK))
	}
	return ids[:n], close
}

// refProbabilities is the distribution that a token is drawn from.
func refProbabilities(logits []float32, p kernels.StepParams) []float64 {
	kept, _ := refKept(logits, p)
	probs := make([]float64, len(logits))
	best, sum := float64(logits[kept[0]]), 0.0
	for _, i := range kept {
		probs[i] = math.Exp((float64(logits[i]) - best) / float64(p.Temp))
		sum += probs[i]
	}
	for _, i := range kept {
		probs[i] /= sum
	}
	return probs
}

// refDraw is the token of a step, and by how much its score leads.
func refDraw(logits []float32, p kernels.StepParams, kept []int) (id int, lead float64) {
	if p.Greedy != 0 || p.Temp < 1e-6 {
		return refOrder(logits)[0], math.Inf(1)
	}
	best, second := math.Inf(-1), math.Inf(-1)
	id = kept[0]
	for _, i := range kept {
		if s := float64(logits[i])/float64(p.Temp) + refGumbel(p, i); s > best {
			best, second, id = s, best, i
		} else if s > second {
			second = s
		}
	}
	return id, best - second
}

// refLogProb is the log-probability of each token at temperature 1.
func refLogProb(logits []float32) []float64 {
	best := math.Inf(-1)
	for _, l := range logits {
		best = math.Max(best, float64(l))
	}
	sum := 0.0
	for _, l := range logits {
		sum += math.Exp(float64(l) - best)
	}
	v := make([]float64, len(logits))
	for i, l := range logits {
		v[i] = float64(l) - best - math.Log(sum)
	}
	return v
}
