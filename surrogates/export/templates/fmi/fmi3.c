static fmi3Instance surrogate_instantiate(fmi3String token, fmi3InstanceEnvironment environment,
                                          fmi3LogMessageCallback logger)
{
    surrogate_instance *m = malloc(sizeof *m);
    surrogate_log log;
    log.logger = logger;
    log.environment = environment;
    if (m && token && strcmp(token, SURROGATE_TOKEN) == 0) {
        m->log = log;
        surrogate_restart(m);
        return m;
    }
    surrogate_report(&log, m ? SURROGATE_OTHER_TOKEN : SURROGATE_NO_MEMORY);
    free(m);
    return 0;
}

SURROGATE_FMI(const char *, GetVersion)(void) { return "3.0"; }

SURROGATE_FMI(fmi3Instance, InstantiateModelExchange)
(fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible, fmi3Boolean logging,
 fmi3InstanceEnvironment environment, fmi3LogMessageCallback logger)
{
    return surrogate_instantiate(token, environment, logger);
}

SURROGATE_FMI(fmi3Instance, InstantiateCoSimulation)
(fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible, fmi3Boolean logging,
 fmi3Boolean events, fmi3Boolean early, const fmi3ValueReference which[], size_t count,
 fmi3InstanceEnvironment environment, fmi3LogMessageCallback logger,
 fmi3IntermediateUpdateCallback update)
{
    return surrogate_instantiate(token, environment, logger);
}

SURROGATE_FMI(fmi3Instance, InstantiateScheduledExecution)
(fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible, fmi3Boolean logging,
 fmi3InstanceEnvironment environment, fmi3LogMessageCallback logger, fmi3ClockUpdateCallback update,
 fmi3LockPreemptionCallback lock, fmi3UnlockPreemptionCallback unlock)
{
    const surrogate_log log = {logger, environment};
    surrogate_report(&log, SURROGATE_NOT_OFFERED);
    return 0;
}

SURROGATE_FMI(void, FreeInstance)(fmi3Instance m) { free(m); }

SURROGATE_FMI(fmi3Status, EnterInitializationMode)
(fmi3Instance m, fmi3Boolean has_tolerance, fmi3Float64 tolerance, fmi3Float64 start,
 fmi3Boolean has_stop, fmi3Float64 stop)
{
    ((surrogate_instance *)m)->now.time = start;
    return fmi3OK;
}

SURROGATE_NONE_OF(GetFloat32, fmi3Float32)
SURROGATE_NONE_OF(GetInt8, fmi3Int8)
SURROGATE_NONE_OF(GetUInt8, fmi3UInt8)
SURROGATE_NONE_OF(GetInt16, fmi3Int16)
SURROGATE_NONE_OF(GetUInt16, fmi3UInt16)
SURROGATE_NONE_OF(GetInt32, fmi3Int32)
SURROGATE_NONE_OF(GetUInt32, fmi3UInt32)
SURROGATE_NONE_OF(GetInt64, fmi3Int64)
SURROGATE_NONE_OF(GetUInt64, fmi3UInt64)
SURROGATE_NONE_OF(SetFloat32, const fmi3Float32)
SURROGATE_NONE_OF(SetInt8, const fmi3Int8)
SURROGATE_NONE_OF(SetUInt8, const fmi3UInt8)
SURROGATE_NONE_OF(SetInt16, const fmi3Int16)
SURROGATE_NONE_OF(SetUInt16, const fmi3UInt16)
SURROGATE_NONE_OF(SetInt32, const fmi3Int32)
SURROGATE_NONE_OF(SetUInt32, const fmi3UInt32)
SURROGATE_NONE_OF(SetInt64, const fmi3Int64)
SURROGATE_NONE_OF(SetUInt64, const fmi3UInt64)

/* The functions of what this model has none of: `references` and what follows them. */
#define SURROGATE_LIST(function, ...)                                                             \
    SURROGATE_FMI(fmi3Status, function)                                                           \
    (fmi3Instance m, const fmi3ValueReference which[], size_t count, __VA_ARGS__)                 \
    {                                                                                             \
        return surrogate_without(m, count);                                                       \
    }
SURROGATE_LIST(GetBinary, size_t sizes[], fmi3Binary values[], size_t size)
SURROGATE_LIST(SetBinary, const size_t sizes[], const fmi3Binary values[], size_t size)
SURROGATE_LIST(GetClock, fmi3Clock values[])
SURROGATE_LIST(SetClock, const fmi3Clock values[])
SURROGATE_LIST(GetIntervalDecimal, fmi3Float64 values[], fmi3IntervalQualifier qualifiers[])
SURROGATE_LIST(GetIntervalFraction, fmi3UInt64 counters[], fmi3UInt64 resolutions[],
               fmi3IntervalQualifier qualifiers[])
SURROGATE_LIST(GetShiftDecimal, fmi3Float64 values[])
SURROGATE_LIST(GetShiftFraction, fmi3UInt64 counters[], fmi3UInt64 resolutions[])
SURROGATE_LIST(SetIntervalDecimal, const fmi3Float64 values[])
SURROGATE_LIST(SetIntervalFraction, const fmi3UInt64 counters[], const fmi3UInt64 resolutions[])
SURROGATE_LIST(SetShiftDecimal, const fmi3Float64 values[])
SURROGATE_LIST(SetShiftFraction, const fmi3UInt64 counters[], const fmi3UInt64 resolutions[])
SURROGATE_LIST(GetOutputDerivatives, const fmi3Int32 orders[], fmi3Float64 values[], size_t size)

#define SURROGATE_REFUSED(function, ...)                                                          \
    SURROGATE_FMI(fmi3Status, function)(fmi3Instance m, __VA_ARGS__)                              \
    {                                                                                             \
        return surrogate_without(m, 1);                                                           \
    }
SURROGATE_REFUSED(GetNumberOfVariableDependencies, fmi3ValueReference which, size_t *count)
SURROGATE_REFUSED(GetVariableDependencies, fmi3ValueReference dependent, size_t elements[],
                  fmi3ValueReference independents[], size_t others[], fmi3DependencyKind kinds[],
                  size_t count)
SURROGATE_REFUSED(GetAdjointDerivative, const fmi3ValueReference unknowns[], size_t unknown_count,
                  const fmi3ValueReference knowns[], size_t known_count, const fmi3Float64 seed[],
                  size_t seeds, fmi3Float64 values[], size_t size)
SURROGATE_REFUSED(ActivateModelPartition, fmi3ValueReference clock, fmi3Float64 time)

/* There are no structural parameters to configure and no discrete states to evaluate. */
SURROGATE_FMI(fmi3Status, EnterConfigurationMode)(fmi3Instance m) { return surrogate_without(m, 1); }
SURROGATE_FMI(fmi3Status, ExitConfigurationMode)(fmi3Instance m) { return surrogate_without(m, 1); }
SURROGATE_FMI(fmi3Status, EvaluateDiscreteStates)(fmi3Instance m) { return fmi3OK; }

SURROGATE_FMI(fmi3Status, GetDirectionalDerivative)
(fmi3Instance m, const fmi3ValueReference unknowns[], size_t unknown_count,
 const fmi3ValueReference knowns[], size_t known_count, const fmi3Float64 seed[], size_t seeds,
 fmi3Float64 values[], size_t size)
{
    if (seeds != known_count || size != unknown_count)
        return surrogate_answer(m, SURROGATE_NO_DERIVATIVE);
    return surrogate_answer(
        m, surrogate_derivative(m, unknowns, unknown_count, knowns, known_count, seed, values));
}

SURROGATE_FMI(fmi3Status, UpdateDiscreteStates)
(fmi3Instance m, fmi3Boolean *again, fmi3Boolean *terminate, fmi3Boolean *nominals,
 fmi3Boolean *states, fmi3Boolean *timed, fmi3Float64 *time)
{
    *again = *terminate = *nominals = *states = *timed = false;
    *time = 0.0;
    return fmi3OK;
}

SURROGATE_NO_STATES(GetContinuousStateDerivatives)

#define SURROGATE_NO_NUMBER(function)                                                             \
    SURROGATE_FMI(fmi3Status, function)(fmi3Instance m, size_t *count)                            \
    {                                                                                             \
        *count = 0;                                                                               \
        return fmi3OK;                                                                            \
    }
SURROGATE_NO_NUMBER(GetNumberOfEventIndicators)
SURROGATE_NO_NUMBER(GetNumberOfContinuousStates)

/* Co-simulation. */
SURROGATE_FMI(fmi3Status, EnterStepMode)(fmi3Instance m) { return fmi3OK; }

SURROGATE_FMI(fmi3Status, DoStep)
(fmi3Instance m, fmi3Float64 time, fmi3Float64 step, fmi3Boolean kept, fmi3Boolean *event,
 fmi3Boolean *terminate, fmi3Boolean *early, fmi3Float64 *last)
{
    const int what = surrogate_step(m, time, step);
    *event = *terminate = *early = false;
    *last = ((surrogate_instance *)m)->now.time;
    return surrogate_answer(m, what);
}
