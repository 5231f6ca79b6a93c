package cdcsidecar;

import java.time.Duration;
import java.time.Instant;
import org.apache.cassandra.utils.Clock;

/** The clock of a node that is wrong by `cdcsidecar.clock.shift_ms` (-Dcassandra.clock). */
public class ShiftedClock extends Clock.Default {
    private static final Duration SHIFT =
            Duration.ofMillis(Long.getLong("cdcsidecar.clock.shift_ms"));

    @Override
    public long currentTimeMillis() {
        return super.currentTimeMillis() + SHIFT.toMillis();
    }

    @Override
    public Instant currentTime() {
        return super.currentTime().plus(SHIFT);
    }

    @Override
    public long nowInSeconds() {
        return currentTimeMillis() / 1000;
    }
}
