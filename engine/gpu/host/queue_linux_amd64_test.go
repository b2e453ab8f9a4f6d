package host

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"sotto/engine/gpu"
)

// gated is a queue whose jobs take a token each before they run.
func gated(results map[uint64]error) (q *queue, gate chan struct{}, ran *uint64) {
	gate, ran = make(chan struct{}), new(uint64)
	q = newQueue(func(job) error {
		<-gate
		*ran++
		return results[*ran]
	})
	return q, gate, ran
}

func TestQueueBoundsWhatIsInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, gate, _ := gated(nil)
		var submitted int
		go func() {
			for range gpu.MaxInFlight + 2 {
				q.submit(job{})
				submitted++
			}
		}()
		synctest.Wait()
		if submitted != gpu.MaxInFlight {
			t.Errorf("got %d submissions without waiting, want %d", submitted, gpu.MaxInFlight)
		}
		gate <- struct{}{}
		synctest.Wait()
		if want := gpu.MaxInFlight + 1; submitted != want {
			t.Errorf("got %d submissions after one has finished, want %d", submitted, want)
		}
		close(gate)
		synctest.Wait()
		q.close()
	})
}

func TestQueueWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, gate, _ := gated(nil)
		n := q.submit(job{})
		ctx, cancel := context.WithCancelCause(t.Context())
		reason := errors.New("enough")
		cancelled, other := make(chan error, 1), make(chan error, 1)
		go func() { cancelled <- q.wait(ctx, n) }()
		go func() { other <- q.wait(t.Context(), n) }()
		synctest.Wait()
		cancel(reason)
		if err := <-cancelled; !errors.Is(err, reason) {
			t.Errorf("got %v, want %v", err, reason)
		}
		select {
		case err := <-other:
			t.Errorf("the other wait returned early with %v", err)
		default:
		}
		gate <- struct{}{}
		if err := <-other; err != nil {
			t.Error(err)
		}
		if err := q.wait(ctx, n); err != nil {
			t.Errorf("finished, but waiting with an ended context gives %v", err)
		}
		if waiting, idle := q.waiters.Counts(); waiting != 0 || idle != 2 {
			t.Errorf("got %d waiters and %d idle, want 0 and 2", waiting, idle)
		}
		q.close()
	})
}

func TestQueueStopsAtTheFirstFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		q, gate, ran := gated(map[uint64]error{2: broken, 3: errors.New("not seen")})
		for range 3 {
			q.submit(job{})
		}
		close(gate)
		for n, want := range map[uint64]error{1: nil, 2: broken, 3: broken} {
			if err := q.wait(t.Context(), n); !errors.Is(err, want) {
				t.Errorf("submission %d: got %v, want %v", n, err, want)
			}
		}
		if *ran != 2 {
			t.Errorf("%d jobs ran, want 2: nothing runs on results that are wrong", *ran)
		}
		q.close()
	})
}

func TestQueueCloseFinishesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, gate, ran := gated(nil)
		for range gpu.MaxInFlight {
			q.submit(job{})
		}
		closed := make(chan struct{})
		go func() {
			q.close()
			close(closed)
		}()
		synctest.Wait()
		select {
		case <-closed:
			t.Error("closed with work in flight")
		default:
		}
		close(gate)
		<-closed
		if *ran != gpu.MaxInFlight {
			t.Errorf("%d jobs ran, want %d", *ran, gpu.MaxInFlight)
		}
	})
}

func TestQueueMakesNoGarbage(t *testing.T) {
	gate := make(chan struct{}, 1)
	q := newQueue(func(job) error {
		<-gate
		return nil
	})
	defer q.close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if n := testing.AllocsPerRun(200, func() {
		n := q.submit(job{})
		gate <- struct{}{}
		if err := q.wait(ctx, n); err != nil {
			t.Error(err)
		}
	}); n != 0 {
		t.Errorf("got %v allocations, want none", n)
	}
}
